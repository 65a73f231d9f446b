"""Whatever text comes in, the front end answers with a plan or an EmberlogError, and within a second.

`EMBERLOG_EXAMPLES` sets the number of texts (`python3 dev.py fuzz` takes 20,000). Text number n is always the same,
so `EMBERLOG_FUZZ_ONLY=n` runs one again.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from emberlog.diagnostics import EmberlogError, to_json
from emberlog.language.registry import AGGREGATES, PROCEDURES, SCALAR_FUNCTIONS
from emberlog.logical.build import build
from emberlog.logical.connection_graph import build_connection_graph
from emberlog.optimize.pipeline import optimize
from emberlog.render.plan_text import explain_text
from emberlog.semantics.analysis import analyze
from emberlog.source import Source
from emberlog.syntax.parser import parse, parse_tolerantly
from emberlog.syntax.printer import print_program

ROOT = Path(__file__).parents[2]
TEXTS = int(os.environ.get("EMBERLOG_EXAMPLES", "1500"))
ONLY = os.environ.get("EMBERLOG_FUZZ_ONLY")
SECONDS_PER_TEXT = 20.0
"""Of processor time. No text takes more than one; a text that makes work grow exponentially takes for ever."""
DIVISION_OF_TEXTS = 10
"""The texts are run in this many tests, so that progress shows and a failure leaves the others running."""


def many_rules(count: int, form: str) -> str:
    return "\n".join(form.format(i=i, j=i + 1) for i in range(count))


def sum_of_sums(levels: int, terms: int) -> str:
    text = "Y"
    for _ in range(levels):
        text = f"({text}{' + Y' * terms})"
    return text


NASTIES: Mapping[str, str] = {
    "nothing": "",
    "only blanks": " \n\t\r\n\f\v",
    "only a full stop": ".",
    "byte order mark": "\ufeffp(1).",
    "null characters": "p(\x00).\x00",
    "lone surrogates": "p('\ud800').",
    "wide characters": "p(𝔛, '🎉', \u202e) ← q(𝔛).",
    "old line ends": "p(1).\rq(2).\r",
    "open comment": "/* " + "* " * 20_000,
    "nested comment marks": "/*" * 20_000,
    "open string": 'p("' + "a" * 100_000,
    "string of escapes": 'p("' + "\\" * 50_001 + '").',
    "long string": 'p("' + "a" * 500_000 + '").',
    "long name": "p" * 200_000 + "(1).",
    "long integer": f"p({'9' * 100_000}).",
    "long float": f"p({'9' * 50_000}.{'9' * 50_000}).",
    "large exponent": "p(1e999999999, 1e-999999999).",
    "limits of int": "p(9223372036854775807, -9223372036854775808, 9223372036854775808).",
    "constant overflow": "p(X) :- X = 9223372036854775807 * 9223372036854775807 + pow(10, 400) / 0 mod 0 div 0.",
    "power tower": "p(X) :- X = pow(9999999, pow(9999999, pow(9999999, 9999999))).",
    "large duration": "STREAM s(T: Timestamp, X: int).\nq(X) :- s(_, X).\nquery q(X), WINDOW(" + "9" * 400 + " years).",
    "iterations": "@iterations(99999999999999999999)\np(X, sum<V>) :- p(X, V).\np(1, 1).",
    "deep parentheses": "p(X) :- X = " + "(" * 20_000 + "1" + ")" * 20_000 + ".",
    "open parentheses": "p(" * 20_000,
    "closed parentheses": ")" * 50_000,
    "deep minus": "p(X) :- X = " + "-" * 20_000 + "1.",
    "deep calls": "p(X) :- X = " + "abs(" * 5_000 + "1" + ")" * 5_000 + ".",
    "deep aggregates": "p(" + "min<" * 5_000 + "X" + ">" * 5_000 + ") :- q(X).",
    "deep pairs": "p(mcount<" + "(" * 5_000 + "X, 1" + ")" * 5_000 + ">) :- q(X).",
    "deep disjunction": "p(X) :- " + "(" * 5_000 + "q(X)" + "; r(X))" * 5_000 + ".",
    "long sum": "p(X) :- q(Y), X = " + " + ".join(["Y"] * 20_000) + ".",
    "sum of sums": f"p(X) :- q(Y), X = {sum_of_sums(levels=90, terms=90)}.",
    "long product": "p(X) :- X = " + " * ".join(["2"] * 5_000) + ".",
    "long concatenation": "p(X) :- q(Y), X = cat(" + ", ".join(["Y"] * 5_000) + ").",
    "long negation": "p(X) :- q(X), " + "!" * 20_000 + "q(X).",
    "long body": "p(X) :- " + ", ".join(f"q(X, Y{i})" for i in range(300)) + ".",
    "cyclic assignments": "p(X) :- " + ", ".join(f"X{i} = X{i + 1} + 1" for i in range(200)) + ", X200 = X0.",
    "chained assignments": "p(X300) :- X0 = 1, " + ", ".join(f"X{i + 1} = X{i} + X{i}" for i in range(300)) + ".",
    "wide fact": "p(" + ", ".join(map(str, range(5_000))) + ").",
    "wide alternatives": "p(X) :- " + "; ".join(f"q{i}(X)" for i in range(500)) + ".",
    "product of alternatives": "p(X) :- " + ", ".join(f"(q{i}(X); r{i}(X))" for i in range(40)) + ".",
    "chain of relations": "p0(1).\n" + many_rules(600, "p{j}(X) :- p{i}(X)."),
    "ring of relations": "p0(1).\n" + many_rules(300, "p{j}(X) :- p{i}(X).") + "\np0(X) :- p300(X).",
    "chain of negations": "p0(1).\nq(1).\n" + many_rules(300, "p{j}(X) :- q(X), !p{i}(X)."),
    "ring of negations": many_rules(300, "p{j}(X) :- q(X), !p{i}(X).") + "\np0(X) :- p300(X).",
    "clique of relations": "\n".join(f"p{i}(X) :- p{j}(X), q(X)." for i in range(20) for j in range(20)),
    "many facts": many_rules(5_000, "p({i}, 'name{i}')."),
    "many errors": many_rules(1_000, "p{i}(X, Y) :- q(X"),
    "many unknown names": many_rules(300, "p{i}(Z) :- q{i}(X), r{i}(X, Y)."),
    "many labels": many_rules(500, "same: p(X{i}) :- q(X{i})."),
    "many annotations": "@premappable " * 2_000 + "p(1).",
    "many declarations": many_rules(500, "declare p(int a{i})."),
    "wide declaration": "declare p(" + ", ".join(f"int c{i}" for i in range(2_000)) + ").",
    "question marks": "p(1)" + "?" * 10_000,
    "arrows": "p(X) " + ":- " * 10_000,
    "angles": "p(min" + "<" * 10_000 + ").",
    "marks": "".join(mark * 500 for mark in "!@#$%^&*<>?;:'~`|\\"),
    "name that is a keyword": "not(X) :- query(X), div(X), mod(X). query not(X). declare declare(int declare).",
    "itself": "p(X) :- p(X).\np(X) :- !p(X).\np(min<X>) :- p(X).\np(X) :- p(X, X).",
    "type that wraps itself": "p(X, collect<N>) :- s(X, N).\np(Y, collect<N>) :- p(X, N), a(X, Y).\n"
    "q(P) :- s(P).\nq(P) :- q(Q), encd(Q, Q, P).",
    "everything aggregated": "p(" + ", ".join(["min<X>"] * 500) + ") :- q(X).",
    "bad regular expression": "p(X) :- q(X), matches(X, '" + "(" * 3_000 + "').",
    "slow regular expression": "p(X) :- X = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab', matches(X, '(a+)+c').",
    "percent at the start": "%%%%\n% %\n#\n#x\np(1). % q(2).",
}
"""Texts that have broken parsers before, each run once in full."""

WORDS = r"""
    . , ; : :- <- ← ? ! ~ not ( ) < > <= >= = == != <> + - * / % div mod { } [ ] # $ @ _ | & \ ' " // /* */
    p q r X Y Z x 0 1 2 -1 1.5 1e308 9223372036854775807 true false null 'a' "b" $x $y
    min< max< sum< count<_> countd< avg< mcount<( msum<( argmin< collect< any< all<
    abs( floor( pow( cat( len( substr( matches( encd( decd( larger( int( float( string(
    declare RELATION STREAM query WINDOW( @iterations( @premappable @iterations(3). minutes
"""
PHRASES = (
    *("p(X) :- q(X).", "p(X), ", "!p(X)", "X = Y + 1", "int a", "aggregate Min", "r1: "),
    *("p(x: X, y: Y)", "`a b`", "`a.b`(X)", "!(p(X), q(X))", "p", "p()", "p, q :- ", "declare r()."),
)
VOCABULARY = (*WORDS.split(), *PHRASES, *"\n\t\x00é\u2028")

Mutation = Callable[[random.Random, str], str]


def some_range(chance: random.Random, text: str, longest: int = 40) -> tuple[int, int]:
    start = chance.randint(0, len(text))
    return start, min(len(text), start + chance.randint(0, longest))


def delete(chance: random.Random, text: str) -> str:
    start, end = some_range(chance, text)
    return text[:start] + text[end:]


def repeat(chance: random.Random, text: str) -> str:
    start, end = some_range(chance, text)
    return text[:end] + text[start:end] * chance.choice((1, 2, 3, 50)) + text[end:]


def insert(chance: random.Random, text: str) -> str:
    place = chance.randint(0, len(text))
    return text[:place] + " ".join(chance.choices(VOCABULARY, k=chance.randint(1, 3))) + text[place:]


def replace_character(chance: random.Random, text: str) -> str:
    start, _ = some_range(chance, text)
    other = chr(chance.choice((chance.randint(0, 127), chance.randint(128, 0x2FFF), 0x1F389)))
    return text[:start] + other + text[start + 1 :]


def swap_words(chance: random.Random, text: str) -> str:
    words = re.split(r"(\W)", text)
    first, second = chance.randrange(len(words)), chance.randrange(len(words))
    words[first], words[second] = words[second], words[first]
    return "".join(words)


def splice(chance: random.Random, text: str) -> str:
    other = chance.choice(SEEDS)
    return text[: chance.randint(0, len(text))] + other[chance.randint(0, len(other)) :]


def cut(chance: random.Random, text: str) -> str:
    return text[: chance.randint(0, len(text))]


def enlarge_number(chance: random.Random, text: str) -> str:
    numbers = list(re.finditer(r"\d+", text))
    if not numbers:
        return text + "1"
    number = chance.choice(numbers)
    return text[: number.end()] + str(chance.randint(0, 9)) * chance.choice((1, 18, 300, 5_000)) + text[number.end() :]


def nest(chance: random.Random, text: str) -> str:
    start, end = some_range(chance, text, longest=10)
    depth = chance.choice((1, 5, 60, 1_000))
    opening, closing = chance.choice((("(", ")"), ("-", ""), ("abs(", ")"), ("!", ""), ("min<", ">"), ("[", "]")))
    return text[:start] + opening * depth + text[start:end] + closing * depth + text[end:]


def mix_statements(chance: random.Random, text: str) -> str:
    lines = text.splitlines() + chance.choice(SEEDS).splitlines()
    return "\n".join(chance.sample(lines, k=chance.randint(1, min(len(lines), 12))))


def replace_match(chance: random.Random, text: str, pattern: str, others: Sequence[str]) -> str:
    places = list(re.finditer(pattern, text))
    if not places:
        return text
    place = chance.choice(places)
    return text[: place.start()] + chance.choice(others) + text[place.end() :]


def replace_name(chance: random.Random, text: str) -> str:
    names = re.findall(r"[^\W\d]\w*", text) or ["p"]
    return replace_match(chance, text, r"[^\W\d]\w*", names)


def replace_value(chance: random.Random, text: str) -> str:
    values = ("0", "-1", "2.5", "9223372036854775807", '"b"', "''", "true", "$x", "_", "X", "abs(X)", "1 / 0")
    return replace_match(chance, text, r"\d+(\.\d+)?|\"[^\"]*\"", values)


def replace_function(chance: random.Random, text: str) -> str:
    functions = (*AGGREGATES, *SCALAR_FUNCTIONS, *PROCEDURES)
    return replace_match(chance, text, rf"\b({'|'.join(functions)})\b", functions)


def replace_operator(chance: random.Random, text: str) -> str:
    return replace_match(chance, text, r" [-+*/<>=!]+ ", (" + ", " / ", " div ", " = ", " < ", " != ", " ; ", ", !"))


WILD: tuple[Mutation, ...] = (
    delete,
    repeat,
    insert,
    replace_character,
    swap_words,
    splice,
    cut,
    enlarge_number,
    nest,
)
"""Mostly give something that is no program."""

GENTLE: tuple[Mutation, ...] = (mix_statements, replace_name, replace_value, replace_function, replace_operator)
"""Mostly give a program, with errors that only the later stages can find."""

LONGEST_SEED = 10_000
PROGRAM_FILES = [*sorted((ROOT / "tests/golden").rglob("*.dl")), *sorted((ROOT / "examples").rglob("*.dl"))]
PROGRAMS = [path.read_text(encoding="utf-8") for path in PROGRAM_FILES]
SEEDS = [text for text in (*PROGRAMS, *NASTIES.values()) if len(text) <= LONGEST_SEED]


def text_number(index: int) -> str:
    """One text in ten is random words; the others are programs with one to six mutations, gentle or wild."""
    chance = random.Random(f"emberlog {index}")
    if index % 10 == 0:
        return chance.choice(("", " ")).join(chance.choices(VOCABULARY, k=chance.randint(1, 200)))
    mutations = GENTLE if index % 2 else WILD
    text = chance.choice(SEEDS)
    for _ in range(chance.randint(1, 6)):
        text = chance.choice(mutations)(chance, text)
    return text


def go_through_the_front_end(text: str) -> None:
    """Everything that `emberlog check`, `fmt` and `explain` do to a text."""
    try:
        program = parse_tolerantly(Source("fuzz.dl", text))
        if not program.problems:
            assert parse(Source("fuzz.dl", print_program(program))).statements == program.statements
        checked = analyze(program, params={name: 1 for name in re.findall(r"\$(\w+)", text)})
        plan = build(checked)
        optimized = optimize(plan)
        explain_text(checked, build_connection_graph(checked), plan, optimized)
    except EmberlogError as error:
        assert error.diagnostics
        to_json(error.diagnostics)


def check(name: str, text: str) -> None:
    # Processor time, not wall time: a busy machine must not fail a test.
    started = time.process_time()
    try:
        go_through_the_front_end(text)
    except Exception as error:
        raise AssertionError(f"{name} gave {type(error).__name__} instead of EmberlogError: {shown(text)}") from error
    seconds = time.process_time() - started
    assert seconds <= SECONDS_PER_TEXT, f"{name} took {seconds:.1f} s: {shown(text)}"


def shown(text: str) -> str:
    return repr(text if len(text) <= 3_000 else f"{text[:1_500]} … {text[-1_500:]}")


@pytest.mark.parametrize("name", NASTIES)
def test_nasty_text(name: str) -> None:
    check(name, NASTIES[name])


@pytest.mark.parametrize("division", range(DIVISION_OF_TEXTS))
def test_mutated_texts(division: int) -> None:
    chosen = [int(ONLY)] if ONLY else range(division, TEXTS, DIVISION_OF_TEXTS)
    for index in chosen:
        check(f"text {index} (EMBERLOG_FUZZ_ONLY={index})", text_number(index))
