"""Lists the entries of DL3xx: the program has a meaning, but no plan."""

from __future__ import annotations

from emberlog.catalogue.entry import Entry, FoundBy

PLANNING_ENTRIES = (
    Entry(
        "DL301",
        "a pass that does not exist",
        "Each pass of the optimizer can be switched off by its name, and there is none of this name.",
        "Use one of the names that the message lists.",
        "`emberlog explain tc.dl --off prune_colums`",
        FoundBy.OTHER,
    ),
    Entry(
        "DL302",
        "a body that is too long to plan",
        "A plan is as deep as a body is long, and bodies of more than a hundred literals are not planned. Atoms that "
        "share variables become relations of their own; but an aggregate is of all combinations of values, and "
        "conditions stay together.",
        "Split the rule into several, each with a relation of its own.",
        "A rule with an aggregate in its head and 101 atoms in its body.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL303",
        "contributions without a common type",
        "Several rules contribute to one aggregated column, and the values that they aggregate have different types.",
        "Convert them in the rules, so that all contribute the same type.",
        'best(X, argmin<C, S>) :- offer(X, S, C), C > 0.\nbest(X, argmin<C, S>) :- bid(X, S, T), C = cat(T, "").\n',
        FoundBy.PLAN,
    ),
    Entry(
        "DL320",
        "a stream program was to be run",
        "Programs over streams can be checked and explained; this executor does not run them.",
        "Declare the input with RELATION to run the program once over the facts that are there.",
        "STREAM ride(Ts: timestamp, Fare: float).\ncheap(T, F) :- ride(T, F), F < 5.0.\n",
        FoundBy.RUN,
    ),
    Entry(
        "DL321",
        "windows that do not go together",
        "The queries of a stream program can have several windows, but a relation has one answer at a slide. Sessions "
        "end at no slide, and without a window nothing leaves, so neither goes with other windows.",
        "Derive another relation for the second window, or make a program of each.",
        "`query a(_, X), WINDOW(1 hour).` beside `query a(_, X), WINDOW(1 day).`",
        FoundBy.OTHER,
    ),
    Entry(
        "DL322",
        "a window in other units than the times of the stream",
        "The times of the stream are plain numbers, so nobody knows how many of them make an hour; or they are moments "
        "and the window is a plain number.",
        "Write the window as a plain number where times are plain numbers, and with units where they are moments.",
        "`query a(_, X), WINDOW(1 hour).` over a stream with the times 1, 2, 3.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL330",
        "rows of a stream that cannot be used",
        "A row of a stream needs a value in each column that a rule reads; a null, or text that spells no value, is "
        'none. With `bad="fail"` such a row ends the query. In a relation beside the streams it always does.',
        'Leave `bad="fail"` out, and such rows are put aside with the reason; leave rows with nulls out of a relation.',
        'A row of the stream `ride` has no fare, `best` reads the fare, and the query has `bad="fail"`.',
        FoundBy.OTHER,
    ),
    Entry(
        "DL331",
        "more workers than Spark has room for",
        "All workers of a recursion run at the same time, and Spark cannot run so many tasks at once.",
        "Ask for fewer workers, or give the session more cores.",
        "`Execution(workers=8)` on a session with `local[2]`.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL332",
        "a recursion that cannot be decomposed",
        "The mode `decomposed` needs an argument that every recursive rule hands through unchanged, and there is none.",
        "Leave the mode to Emberlog, or choose `bsp`.",
        '`Execution(mode="decomposed")` for `tc(X, Z) :- tc(X, Y), tc(Y, Z).`',
        FoundBy.OTHER,
    ),
    Entry(
        "DL333",
        "a recursion that the cyclic executor cannot run",
        "It was asked for by name, and the message says what it cannot do.",
        "Leave the choice to Emberlog: with the executor `auto` such a recursion is run in another way.",
        '`Execution(executor="cyclic")` for a recursion that makes new strings.',
        FoundBy.OTHER,
    ),
    Entry(
        "DL334",
        "a recursion that needs rounds",
        "The mode `async` lets each worker go on by itself, and is for recursions whose facts are only added or "
        "improved: sets, `min` and the like, `mcount` and `msum`. One that goes by stages or by `@iterations` needs "
        "rounds.",
        "Leave the mode to Emberlog, or choose `bsp`.",
        '`Execution(mode="async")` for PageRank with `@iterations(20)`.',
        FoundBy.OTHER,
    ),
    Entry(
        "DL335",
        "values that cannot be placed as asked",
        "Ranges and locality are computed from the arcs that lead from where a fact lives to where the next one will, "
        "and these rules have none; or nothing is exchanged, so that it does not matter where values are.",
        "Leave the partitioning to Emberlog, or choose `hash`.",
        '`Execution(partitioning="locality")` for `n(Y) :- n(X), Y = X + 1.`',
        FoundBy.OTHER,
    ),
    Entry(
        "DL336",
        "an option that would do nothing",
        "An option was set that the engine, the executor or the program cannot honour. It is not ignored, because a "
        "run that is not what was asked for would look as if it were.",
        "Leave the option out, or do what the message says instead.",
        '`Execution(through_spark=True)` on `Database(engine="local")`.',
        FoundBy.OTHER,
    ),
    Entry(
        "DL337",
        "facts that cannot be kept as asked",
        "Marks, lanes and rows are for recursions of one relation whose columns fall into two sides that no rule "
        "brings together; marks and lanes need a side that every rule hands through, too.",
        "Leave the representation to Emberlog, or choose `hash`.",
        '`Execution(representation="rows")` for `tc(X, Z) :- tc(X, Y), tc(Y, Z).`',
        FoundBy.OTHER,
    ),
    Entry(
        "DL338",
        "a location that not everyone can use",
        "`Recovery(location=…)` names where runs keep inputs, results and checkpoints. Driver, executors and Spark all "
        "read and write there, and one of them cannot, or sees another folder under the same name. The message says "
        "which.",
        "Name a folder that is mounted on every machine, or an address of a store that all of them reach. Credentials "
        "of s3://, gs:// and abfs:// come from the environment of each process, as pyarrow.fs reads them.",
        '`Recovery(location="/tmp/runs")` on a cluster whose machines have a `/tmp` of their own.',
        FoundBy.OTHER,
    ),
    Entry(
        "DL340",
        "a checkpoint of another stream query",
        "What a stream query keeps in its checkpoint depends on its program, its window and its inputs. With another "
        "program it would give answers that belong to neither.",
        "Start the changed query with a new checkpoint, or the old one with the old checkpoint. If only the program or "
        "its parameters have changed, `newProgram=True` goes on with the tuples of the window.",
        "A rule was changed, and the query started with the `checkpointLocation` of before.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL341",
        "a checkpoint that does not fit together",
        "Spark keeps in the checkpoint how much of the input it has read, and Emberlog what it has made of it. One of "
        "them is older than the other can be.",
        "Put back what was changed or deleted in the checkpoint, or start with a new one.",
        "The folder `spark` of a checkpoint was deleted, and the rest was kept.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL342",
        "a stream that is not used as one",
        "A program over streams reads streaming DataFrames and is started; other relations are read as they are. The "
        "message says which of them does not fit.",
        "Register what `spark.readStream` gives for a STREAM, and anything else for other relations.",
        '`db["ride"] = spark.read.parquet("rides/")` for `STREAM ride(Ts: timestamp, Fare: float).`',
        FoundBy.OTHER,
    ),
    Entry(
        "DL343",
        "a stream of changes that cannot be read",
        "`db.register(…, changes=…)` says how a stream tells of rows that come and go: envelopes of Debezium, a change "
        "feed of Delta, or a column of its own. The data does not look like that.",
        "Give a streaming frame in the form that is named, or name the column that says insert or delete.",
        '`db.register("ride", frame, changes="op")`, and the frame has no column `op`.',
        FoundBy.OTHER,
    ),
    Entry(
        "DL344",
        "a connector that Spark does not have",
        "Answers of a stream go to any format that Spark writes, and Kafka, Delta and others come as packages of their "
        "own. The session has none under this name.",
        "Start the session with the package of the connector, in the version of your Spark, or correct the name.",
        '`result.start(format="kafka", …)` in a session without `spark-sql-kafka`.',
        FoundBy.OTHER,
    ),
    Entry(
        "DL345",
        "a database that cannot take the answers",
        'With `format="jdbc"` and `outputMode="changes"` a table of the database has the answer of each relation. The '
        "database cannot be reached, refuses a statement, or the table has no column for a value.",
        "Correct the address, make the table with all columns of the relation, or leave it out: it is made then.",
        '`options={"url": "jdbc:postgresql://nowhere/db"}`.',
        FoundBy.OTHER,
    ),
)
