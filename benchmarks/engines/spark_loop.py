"""A hand-written PySpark loop for each program: what people do today when they need recursion on Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.engines.protocol import Engine, Outcome, Settings
from benchmarks.engines.spark_fixpoint import Rounds, improve, semi_naive
from benchmarks.engines.spark_session import ShuffleMeter, answer_of, open_session, spark_version
from benchmarks.workloads.answer import Answer
from benchmarks.workloads.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Inputs = Mapping[str, "DataFrame"]
Loop = Callable[[Inputs, Mapping[str, int], Rounds], "DataFrame"]


def _functions() -> tuple[Callable[[str], Column], Callable[[str], Column], Callable[[str], Column]]:
    """Imported late: this module is also read where pyspark is not installed."""
    from pyspark.sql.functions import col, max, min

    return col, min, max


def _arc(inputs: Inputs) -> DataFrame:
    return inputs["arc"].toDF("z", "y")


def transitive_closure(inputs: Inputs, parameters: Mapping[str, int], rounds: Rounds) -> DataFrame:
    arc = _arc(inputs)
    seed = inputs["arc"].toDF("x", "y")
    return semi_naive(rounds, seed, lambda delta, _: delta.withColumnRenamed("y", "z").join(arc, "z").select("x", "y"))


def non_linear_closure(inputs: Inputs, parameters: Mapping[str, int], rounds: Rounds) -> DataFrame:
    def step(delta: DataFrame, known: DataFrame) -> DataFrame:
        first = delta.toDF("x", "z").join(known.toDF("z", "y"), "z").select("x", "y")
        second = known.toDF("x", "z").join(delta.toDF("z", "y"), "z").select("x", "y")
        return first.unionByName(second)

    return semi_naive(rounds, inputs["arc"].toDF("x", "y"), step)


def same_generation(inputs: Inputs, parameters: Mapping[str, int], rounds: Rounds) -> DataFrame:
    left, right = inputs["arc"].toDF("a", "x"), inputs["arc"].toDF("b", "y")
    seed = left.join(right, left["a"] == right["b"]).where("x <> y").select("x", "y")
    return semi_naive(
        rounds, seed, lambda delta, _: delta.toDF("a", "b").join(left, "a").join(right, "b").select("x", "y")
    )


def same_generation_count(inputs: Inputs, parameters: Mapping[str, int], rounds: Rounds) -> DataFrame:
    return same_generation(inputs, parameters, rounds).selectExpr("count(*)")


def reachability(inputs: Inputs, parameters: Mapping[str, int], rounds: Rounds) -> DataFrame:
    col, _, _ = _functions()
    arc = _arc(inputs)
    seed = inputs["arc"].toDF("x", "y").where(col("x") == parameters["source"])
    return semi_naive(rounds, seed, lambda delta, _: delta.toDF("x", "z").join(arc, "z").select("x", "y"))


def components(inputs: Inputs, parameters: Mapping[str, int], rounds: Rounds) -> DataFrame:
    return _labels(inputs["arc"].toDF("z", "x"), rounds)


def weak_components(inputs: Inputs, parameters: Mapping[str, int], rounds: Rounds) -> DataFrame:
    arc = inputs["arc"].toDF("z", "x")
    return _labels(rounds.hold(arc.unionByName(arc.toDF("x", "z")).distinct()), rounds)


def _labels(arc: DataFrame, rounds: Rounds) -> DataFrame:
    _, smallest, _ = _functions()
    seed = arc.selectExpr("z AS x", "z AS label")
    return improve(
        rounds,
        seed,
        lambda delta: delta.withColumnRenamed("x", "z").join(arc, "z").select("x", "label"),
        ["x"],
        "label",
        smallest,
        lambda one, other: one < other,
    )


def shortest_paths(inputs: Inputs, parameters: Mapping[str, int], rounds: Rounds) -> DataFrame:
    _, smallest, _ = _functions()
    arc = inputs["arc"].toDF("z", "x", "w")
    seed = arc.sparkSession.sql(f"SELECT CAST({parameters['source']} AS BIGINT) AS x, CAST(0 AS BIGINT) AS d")
    return improve(
        rounds,
        seed,
        lambda delta: delta.withColumnRenamed("x", "z").join(arc, "z").selectExpr("x", "d + w AS d"),
        ["x"],
        "d",
        smallest,
        lambda one, other: one < other,
    )


def all_shortest_paths(inputs: Inputs, parameters: Mapping[str, int], rounds: Rounds) -> DataFrame:
    _, smallest, _ = _functions()
    arc = inputs["arc"].toDF("z", "y", "w")
    return improve(
        rounds,
        inputs["arc"].toDF("x", "y", "d"),
        lambda delta: delta.withColumnRenamed("y", "z").join(arc, "z").selectExpr("x", "y", "d + w AS d"),
        ["x", "y"],
        "d",
        smallest,
        lambda one, other: one < other,
    )


def page_rank(inputs: Inputs, parameters: Mapping[str, int], rounds: Rounds) -> DataFrame:
    arc, node = inputs["arc"].toDF("x", "y"), inputs["node"].toDF("y")
    degree = arc.groupBy("x").count()
    share = rounds.hold(arc.join(degree, "x").selectExpr("x", "y", "0.85D / count AS part"))
    rank = node.selectExpr("y AS x", "0.15D AS r")
    for _ in range(19):
        sent = rank.join(share, "x").selectExpr("y", "r * part AS v").groupBy("y").agg({"v": "sum"}).toDF("y", "v")
        rank = rounds.hold(node.join(sent, "y", "left").selectExpr("y AS x", "0.15D + coalesce(v, 0) AS r"))
        rounds.productive += 1
    return rank


def triangles(inputs: Inputs, parameters: Mapping[str, int], rounds: Rounds) -> DataFrame:
    upwards = inputs["arc"].where("src < dst")
    pairs = upwards.toDF("x", "y").join(upwards.toDF("y", "z"), "y")
    return pairs.join(inputs["arc"].toDF("x", "z"), ["x", "z"], "left_semi").selectExpr("count(*)")


def andersen(inputs: Inputs, parameters: Mapping[str, int], rounds: Rounds) -> DataFrame:
    assign, load, store = (inputs[name].toDF("l", "r") for name in ("assign", "load", "store"))

    def step(delta: DataFrame, known: DataFrame) -> DataFrame:
        def loads(first: DataFrame, second: DataFrame) -> DataFrame:
            return load.join(first.toDF("r", "m"), "r").join(second.toDF("m", "o"), "m").selectExpr("l AS v", "o")

        def stores(target: DataFrame, value: DataFrame) -> DataFrame:
            return store.join(target.toDF("l", "v"), "l").join(value.toDF("r", "o"), "r").select("v", "o")

        assigned = assign.join(delta.toDF("r", "o"), "r").selectExpr("l AS v", "o")
        parts = (loads(delta, known), loads(known, delta), stores(delta, known), stores(known, delta))
        for part in parts:
            assigned = assigned.unionByName(part)
        return assigned

    return semi_naive(rounds, inputs["address_of"].toDF("v", "o"), step)


def dyck(inputs: Inputs, parameters: Mapping[str, int], rounds: Rounds) -> DataFrame:
    opening, closing = inputs["open"].toDF("k", "x", "a"), inputs["close"].toDF("k", "b", "y")

    def step(delta: DataFrame, known: DataFrame) -> DataFrame:
        inside = delta.toDF("a", "b").join(opening, "a").join(closing, ["b", "k"]).select("x", "y")
        first = delta.toDF("x", "z").join(known.toDF("z", "y"), "z").select("x", "y")
        second = known.toDF("x", "z").join(delta.toDF("z", "y"), "z").select("x", "y")
        return inside.unionByName(first).unionByName(second)

    seed = opening.toDF("k", "x", "z").join(closing.toDF("k", "z", "y"), ["k", "z"]).select("x", "y")
    return semi_naive(rounds, seed, step)


def even_paths(inputs: Inputs, parameters: Mapping[str, int], rounds: Rounds) -> DataFrame:
    arc = _arc(inputs)
    seed = inputs["arc"].selectExpr("true AS odd", "src AS x", "dst AS y")
    paths = semi_naive(
        rounds,
        seed,
        lambda delta, _: delta.toDF("odd", "x", "z").join(arc, "z").selectExpr("NOT odd AS odd", "x", "y"),
    )
    return paths.where("NOT odd").select("x", "y")


def delivery(inputs: Inputs, parameters: Mapping[str, int], rounds: Rounds) -> DataFrame:
    _, _, largest = _functions()
    part_of = inputs["part_of"].toDF("part", "component", "pieces").select("part", "component")
    return improve(
        rounds,
        inputs["bought"].toDF("part", "d"),
        lambda delta: delta.toDF("component", "d").join(part_of, "component").select("part", "d"),
        ["part"],
        "d",
        largest,
        lambda one, other: one > other,
    )


def parts(inputs: Inputs, parameters: Mapping[str, int], rounds: Rounds) -> DataFrame:
    """Level by level, since a sum must see all its contributions at once."""
    part_of = inputs["part_of"].toDF("part", "component", "pieces")
    start = f"SELECT CAST({parameters['product']} AS BIGINT) AS part, CAST(1 AS BIGINT) AS n"
    level = rounds.hold(part_of.sparkSession.sql(start))
    total = level
    while True:
        below = level.join(part_of, "part").selectExpr("component AS part", "n * pieces AS n")
        level = rounds.hold(below.groupBy("part").agg({"n": "sum"}).toDF("part", "n"))
        if level.isEmpty():
            return total.groupBy("part").agg({"n": "sum"})
        rounds.productive += 1
        total = total.unionByName(level)


def unreached(inputs: Inputs, parameters: Mapping[str, int], rounds: Rounds) -> DataFrame:
    col, _, _ = _functions()
    node = inputs["node"].toDF("y").where("y % 7 <> 3")
    arc = rounds.hold(_arc(inputs).join(node, "y", "left_semi").select("z", "y"))
    seed = arc.where(col("z") == parameters["source"]).select("y")
    reached = semi_naive(rounds, seed, lambda delta, _: delta.toDF("z").join(arc, "z").select("y"))
    return node.join(reached, "y", "left_anti")


def above(inputs: Inputs, parameters: Mapping[str, int], rounds: Rounds) -> DataFrame:
    works_for = inputs["works_for"].toDF("n", "m")
    seed = inputs["works_for"].toDF("p", "m")
    return semi_naive(rounds, seed, lambda delta, _: delta.toDF("p", "n").join(works_for, "n").select("p", "m"))


LOOPS: Mapping[str, Loop] = {
    "tc": transitive_closure,
    "tc-nonlinear": non_linear_closure,
    "sg": same_generation,
    "sg-count": same_generation_count,
    "reach": reachability,
    "cc": components,
    "wcc": weak_components,
    "sssp": shortest_paths,
    "apsp": all_shortest_paths,
    "pagerank": page_rank,
    "triangles": triangles,
    "andersen": andersen,
    "dyck": dyck,
    "even-odd": even_paths,
    "delivery": delivery,
    "parts": parts,
    "unreached": unreached,
    "above": above,
}


class SparkLoop(Engine):
    name = "spark-loop"
    title = "PySpark, hand-written loop"
    installed_by = "comes with PySpark"
    timing = "the inputs are cached in Spark beforehand, partitioned by their first column"

    def version(self) -> str:
        return spark_version()

    def start(self, settings: Settings) -> None:
        super().start(settings)
        self._spark = open_session(settings)

    def prepare(self, workload: Workload, inputs: Mapping[str, Path]) -> None:
        self._loop = LOOPS[workload.program_name]
        self._parameters = workload.parameters
        self._columns = workload.program.columns
        self._spark.catalog.clearCache()
        self._rounds = Rounds(self.settings.threads)
        self._inputs = {}
        for relation, path in inputs.items():
            frame = self._spark.read.parquet(str(path))
            cached = frame.repartition(self.settings.threads, frame.columns[0]).cache()
            cached.count()
            self._inputs[relation] = cached

    def reset(self) -> None:
        self._rounds.release()
        self._rounds = Rounds(self.settings.threads)

    def run(self) -> Outcome:
        meter = ShuffleMeter(self._spark)
        self._result = self._loop(self._inputs, self._parameters, self._rounds)
        rows = self._result.count()
        return Outcome(rows, {"iterations": self._rounds.productive, "bytes_exchanged": meter.bytes()})

    def check(self) -> Answer:
        return answer_of(self._result, self._columns)

    def close(self) -> None:
        self._spark.stop()
