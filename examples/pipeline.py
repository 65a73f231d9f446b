"""What is each customer worth, over all systems? Spark before, Datalog in the middle, Spark after.

    python examples/pipeline.py [FOLDER]

Three systems keep customers of their own, and each spells them differently. The pipeline
  1. cleans the records with Spark: mails in lower case, phones reduced to their digits;
  2. finds out with rules which records are about the same person, and who brought whom as a customer;
  3. goes on with Spark: names, and what each person is worth, written to FOLDER as Parquet if one is given.
"""

from __future__ import annotations

import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import emberlog

RECORDS = [
    (101, "shop", "Ann Lee", "ann.lee@example.org", "+49 (555) 0101"),
    (102, "shop", "Omar Haddad", "omar@example.net", None),
    (103, "shop", "J. Novak", "jnovak@example.com", "555 0145"),
    (205, "support", "A. Lee", " Ann.Lee@example.org", None),
    (206, "support", "Jan Novák", None, "555-0145"),
    (207, "support", "Omar H.", "omar.haddad@example.com", "555-0190"),
    (309, "newsletter", "Annie", "annie@example.com", "+49 555 0101"),
    (310, "newsletter", "O. Haddad", "OMAR@example.net", "555 0190"),
    (311, "newsletter", "Priya Nair", "priya@example.org", None),
]
ORDERS = [(1, 101, 120.0), (2, 205, 35.5), (3, 103, 60.0), (4, 309, 12.5), (5, 310, 240.0), (6, 311, 18.0)]
REFERRALS = [(310, 206), (309, 207), (311, 102)]
"""Who brought whom, as records: 310 was brought by 206."""

SAME_PERSON = """
    // Not needed, but it names the columns of the DataFrame.
    declare person(id: int, person: int).

    same(A, B) :- key(A, K), key(B, K), A != B.

    // Every record begins as a person of its own, and takes over the smallest number that reaches it.
    person(Id, min<Id>) :- record(Id, _).
    person(B, min<P>) :- person(A, P), same(A, B).
"""

BROUGHT = """
    declare worth(person: int, amount: float).

    // Referrals between records become referrals between persons; whoever was brought may bring others.
    brought(P, Q) :- referral(New, Old), person(Old, P), person(New, Q).
    brought(P, R) :- brought(P, Q), brought(Q, R).

    // A person is worth what the person ordered, and what those ordered who came along.
    counts_for(P, P) :- person(_, P).
    counts_for(P, Q) :- brought(P, Q).
    worth(P, sum<Amount>) :- counts_for(P, Q), person(Record, Q), order(_, Record, Amount).
"""


def keys(records: DataFrame) -> DataFrame:
    """One row for everything that identifies a record. Spark cleans; rules should not have to."""
    mails = records.select("id", F.concat(F.lit("mail "), F.lower(F.trim("mail"))).alias("key"))
    digits = F.right(F.regexp_replace("phone", "[^0-9]", ""), F.lit(7))
    phones = records.select("id", F.concat(F.lit("phone "), digits).alias("key"))
    return mails.unionByName(phones).where("key IS NOT NULL")


def run(spark: SparkSession) -> DataFrame:
    records = spark.createDataFrame(RECORDS, "id long, system string, name string, mail string, phone string")

    db = emberlog.Database(spark)
    db["key"] = keys(records)
    db["record"] = records.select("id", "name")
    same = db.datalog(SAME_PERSON)

    # A result is a DataFrame, so it can be the input of the next program.
    db["person"] = same["person"]
    db["referral"] = REFERRALS
    db["order"] = spark.createDataFrame(ORDERS, "id long, record long, amount double")
    worth = db.datalog(BROUGHT)

    # And everything else that Spark can do comes after.
    names = (
        same["person"]
        .join(records, "id")
        .groupBy("person")
        .agg(F.max_by("name", F.length("name")).alias("name"), F.sort_array(F.collect_set("system")).alias("systems"))
    )
    return names.join(worth["worth"], "person").orderBy(F.desc("amount")).select("name", "systems", "amount")


def main() -> None:
    spark = SparkSession.getActiveSession() or emberlog.Database().spark
    report = run(spark)
    report.show(truncate=False)
    if len(sys.argv) > 1:
        report.write.parquet(sys.argv[1])
        print(f"written: {sys.argv[1]}")


if __name__ == "__main__":
    main()
