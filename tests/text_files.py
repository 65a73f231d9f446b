"""Text files as people have them, and what each engine must make of them: the same facts, the same error, the same
warning."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import emberlog

TWO = "q(X, Y) :- e(X, Y)."
ONE = "q(X) :- e(X)."
FLIGHT = "declare e(origin: string, target: string). q(X, Y) :- e(X, Y)."


@dataclass(frozen=True)
class Case:
    """Holds a file, how it is registered, and what a program gets of it."""

    content: bytes
    expected: set[tuple[Any, ...]] | str
    """The facts, or the code of the error."""
    program: str = TWO
    name: str = "e.csv"
    options: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    """What the error or the warnings have in their text."""


def text(content: str, expected: set[tuple[Any, ...]] | str, program: str = TWO, **others: Any) -> Case:
    return Case(content.encode(), expected, program, **others)


PACKED = gzip.compress(b"1,2\n3,4\n" * 1000)

CASES = {
    "raw facts keep their quotes": text('"x y"\t1\n', {('"x y"', 1)}, name="e.facts"),
    "raw facts may have one quote": text('"x y\t1\n', {('"x y', 1)}, name="e.facts"),
    "facts with quotes": text('"x\ty"\t1\n', {("x\ty", 1)}, name="e.facts", options={"quote": '"'}),
    "csv is quoted": text('"x,y",1\n', {("x,y", 1)}),
    "raw csv": text('"x",1\n', {('"x"', 1)}, options={"quote": ""}),
    "another quote": text("'x,''y',1\n", {("x,'y", 1)}, options={"quote": "'"}),
    "a delimiter": text("a;1\nb,c;2\n", {("a", 1), ("b,c", 2)}, options={"delimiter": ";"}),
    "numbers between bars": text("1|2\n3|4\n", {(1, 2), (3, 4)}, options={"delimiter": "|"}),
    "a forgotten delimiter": text(
        "1;2\n3;4\n",
        "DL402",
        "declare e(a: int, b: int). q(X, Y) :- e(X, Y).",
        warnings=("DL495",),
        says=("--delimiter ';'",),
    ),
    "one cell with commas": text("a, b\nc\n", {("a, b",), ("c",)}, ONE, name="e.facts"),
    "a null text": text("NA,1\n\\N,NA\n", {(None, 1), ("\\N", None)}, options={"null": "NA"}),
    "an empty null text": text("a,1\n,2\n", {("a", 1), (None, 2)}, options={"null": ""}),
    "a number as null": text("1,2\n-1,3\n", {(1, 2), (None, 3)}, options={"null": "-1"}),
    "null in quotes is text": text('"\\N",1\n\\N,2\n', {("\\N", 1), (None, 2)}),
    "latin-1": Case("é,1\n".encode("latin-1"), {("é", 1)}, options={"encoding": "latin-1"}),
    "cp1252": Case("€,1\n".encode("cp1252"), {("€", 1)}, options={"encoding": "cp1252"}),
    "utf-16": Case("é,1\na,2\n".encode("utf-16"), {("é", 1), ("a", 2)}, options={"encoding": "utf-16"}),
    "not utf-8": Case("a,1\né,1\n".encode("latin-1"), "DL406", says=("UTF-8", "line 2", "0xe9", "encoding=")),
    "utf-16 that nobody named": Case("é,1\n".encode("utf-16"), "DL406", says=('encoding="utf-16"',)),
    "not ascii": text("é,1\n", "DL406", options={"encoding": "ascii"}, says=("ascii",)),
    "a header obeyed": text("target,origin\nB,A\n", {("A", "B")}, FLIGHT, options={"header": True}),
    "a header in another case": text("Target,ORIGIN\nB,A\n", {("A", "B")}, FLIGHT, options={"header": True}),
    "a header with other names": text("von,nach\nA,B\n", {("A", "B")}, FLIGHT, options={"header": True}),
    "a header obeyed, of numbers": text(
        "b,a\n1,2\n", {(2, 1)}, "declare e(a: int, b: int). q(X, Y) :- e(X, Y).", options={"header": True}
    ),
    "a header with one declared name": text(
        "dst,source\n1,2\n",
        "DL423",
        "declare e(src: int, dst: int). q(X, Y) :- e(X, Y).",
        options={"header": True},
        says=("`dst`, `source`", "`src`, `dst`"),
    ),
    "names that nobody gave are no names": text("1,2\n", {(1, 2)}, "declare e(c2: int, c1: int). q(X, Y) :- e(X, Y)."),
    "a header noticed above numbers": text(
        "name,age\nann,3\nbo,4\n",
        {("name", "age"), ("ann", "3"), ("bo", "4")},
        warnings=("DL490",),
        says=("`name`, `age`", "header=True"),
    ),
    "a header noticed by declared names": text(
        "target,origin\nB,A\n", {("target", "origin"), ("B", "A")}, FLIGHT, warnings=("DL490",)
    ),
    "a header that is wrong in its column": text(
        "name,age\nann,3\n",
        "DL404",
        "declare e(name: string, age: int). q(X, Y) :- e(X, Y).",
        says=("`age` is not an int", "header=True"),
    ),
    "no header, as somebody said": text(
        "name,age\nann,3\n", {("name", "age"), ("ann", "3")}, options={"header": False}
    ),
    "a header of text alone is not noticed": text("name,town\nann,rome\n", {("name", "town"), ("ann", "rome")}),
    "a postal code": text("01234,1\n99999,2\n", {("01234", 1), ("99999", 2)}),
    "numbers that begin with 0 as they should": text("0,0.5\n-0.25,1e-05\n", {(0.0, 0.5), (-0.25, 1e-05)}),
    "a postal code among floats": text("01.50,1\n2.5,2\n", {("01.50", 1), ("2.5", 2)}),
    "a declared int may begin with 0": text("01234,1\n", {(1234, 1)}, "declare e(a: int, b: int). q(X, Y) :- e(X, Y)."),
    "truncated": Case(PACKED[:-20], "DL405", name="e.csv.gz", says=("e.csv.gz",)),
    "not packed at all": Case(b"1,2\n", "DL405", name="e.csv.gz", says=("e.csv.gz",)),
    "a line separator of Unicode": text("a\u2028b,1\n", {("a\u2028b", 1)}),
    "a vertical tab in the only row": text("a\x0bb,1\n", {("a\x0bb", 1)}),
    "a next line in the only row": text("a\x85b,\x851\n", {("a\x85b", "\x851")}),
    "only a line separator": text("\u2028\n", {("\u2028",)}, ONE),
    "lines that end with a carriage return": text("a,1\rb,2\r", {("a", 1), ("b", 2)}),
    "lines of both kinds": text("a,1\r\nb,2\n", {("a", 1), ("b", 2)}),
}


def check(database: emberlog.Database[Any], case: Case, folder: Path) -> None:
    """Registers the file and runs the program, and compares what comes of it."""
    path = folder / case.name
    path.write_bytes(case.content)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", emberlog.EmberlogWarning)
        try:
            database.register("e", path, **case.options)
            found: set[tuple[Any, ...]] | str = {tuple(row) for row in database.datalog(case.program)["q"].collect()}
            said = ""
        except emberlog.EmberlogError as error:
            found, said = error.diagnostics[0].code, str(error)
    told = [one.message for one in caught if isinstance(one.message, emberlog.EmberlogWarning)]
    assert found == case.expected, said
    assert tuple(one.diagnostic.code for one in told) == case.warnings
    for part in case.says:
        assert part in said or any(part in str(one) for one in told), said or told
