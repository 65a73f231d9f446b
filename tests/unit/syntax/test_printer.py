import pytest

from emberlog.source import Source
from emberlog.syntax.parser import parse
from emberlog.syntax.printer import print_program, print_value
from tests.programs import parsed


def formatted(text: str) -> str:
    return print_program(parsed(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("r1:tc(X,Y)<-arc(X,Y).", "r1: tc(X, Y) :- arc(X, Y).\n"),
        ("p(X):-q(X),not r(X),X<>3,X==X.", "p(X) :- q(X), !r(X), X != 3, X = X.\n"),
        ("p(X % 2, X-(Y-Z), (X+Y)*Z, -(1), -X, - -1).", "p(X mod 2, X - (Y - Z), (X + Y) * Z, -(1), -X, --1).\n"),
        ("p(f'{X}-{Y+1}\\n',f\"{{{X}}}\",f'').", 'p(f"{X}-{Y + 1}\\n", f"{{{X}}}", "").\n'),
        ('p(f\'{upper("x")} "{X}"\').', 'p(f\'{upper("x")} "{X}"\').\n'),
        ("EDGE(int src, Float w aggregate MIN)", "declare EDGE(src: int, w: float aggregate min).\n"),
        ("{ride(Ts: Timestamp)}", "STREAM ride(Ts: timestamp).\n"),
        ("query tc(1, Y).", "tc(1, Y)?\n"),
        ("query p(_, C), window(1 year).", "query p(_, C), WINDOW(1 years).\n"),
        ("query p(_, C), hop(1 hour, 5 minutes).", "query p(_, C), HOP(1 hours, 5 minutes).\n"),
        ("query p(_, C), tumble(30 minutes).", "query p(_, C), TUMBLE(30 minutes).\n"),
        ("query p(_, C), session(10, User).", "query p(_, C), SESSION(10, User).\n"),
        (
            "h(count<*>, mcount<(E,1)>, argmin<C,V>):-p(E,C,V).",
            "h(count<_>, mcount<(E, 1)>, argmin<C, V>) :- p(E, C, V).\n",
        ),
        ("p(X):-(a(X);b(X)),c(X).", "p(X) :- (a(X) ; b(X)), c(X).\n"),
        ("p(X):-a(X);(b(X),(c(X);d(X))).", "p(X) :- a(X) ; b(X), (c(X) ; d(X)).\n"),
        ("@iterations(20).", "@iterations(20).\n"),
        ("p(b:X,a:min<Y>):-q(x:X,y:Y),!r(x:X).", "p(b: X, a: min<Y>) :- q(x: X, y: Y), !r(x: X).\n"),
        ("p(b:1)?", "p(b: 1)?\n"),
        ("p(a:1,b:true).", "p(a: 1, b: true).\n"),
        ('p(a:date "2026-01-05",b:true).', 'p(a: date "2026-01-05", b: true).\n'),
        ("p(a:date):-q(date).", "p(a: date) :- q(date).\n"),
        ("p(a:date).", "declare p(a: date).\n"),
        ("r:p(X),q():-s(X).", "r: p(X), q :- s(X).\n"),
        ("p:-q,!r(),not s.", "p :- q, !r, !s.\n"),
        ("p().q()?query r.", "p.\nq?\nr?\n"),
        ("declare p().", "declare p().\n"),
        ("p(X):-a(X),not(b(X,Y),c(Y);d(X)).", "p(X) :- a(X), !(b(X, Y), c(Y) ; d(X)).\n"),
        ("`a b`(`c.d`:X):-`not`(X),`e`(X).", "`a b`(`c.d`: X) :- `not`(X), e(X).\n"),
        ("declare `a-b`(`c d`:int).", "declare `a-b`(`c d`: int).\n"),
        ("", ""),
    ],
)
def test_canonical_form(text: str, expected: str) -> None:
    assert formatted(text) == expected
    assert formatted(expected) == expected
    assert parsed(expected) == parsed(text.replace("<*>", "<_>"))


def test_long_bodies_get_a_line_per_part() -> None:
    text = "p(X) :- " + ", ".join(f"relation_{number}(X, Y)" for number in range(8)) + ", X != Y."
    assert formatted(text).split("\n")[1] == "    relation_0(X, Y),"
    assert parsed(formatted(text)) == parsed(text)


def test_comments_and_single_blank_lines_stay() -> None:
    text = (
        "% above\n\n\n\np(1).   // behind\n/* two\n   lines */\nq(X) :-\n    p(X),  // inside\n    X > 0.\n\n% last\n"
    )
    expected = "% above\n\np(1).  // behind\n/* two\n   lines */\n// inside\nq(X) :- p(X), X > 0.\n\n% last\n"
    assert formatted(text) == expected
    assert formatted(expected) == expected


@pytest.mark.parametrize("value", [0, -5, 1.0, 1e300, 1e-7, 0.1, "a", 'q"\\\n\t\u2028é', "", True, False])
def test_values_are_read_back_as_they_were(value: int | float | str | bool) -> None:
    (fact,) = parse(Source("t", f"p({print_value(value)}).")).statements
    constant = fact.head.terms[0]  # type: ignore[union-attr]
    assert constant.value == value and type(constant.value) is type(value)  # type: ignore[union-attr]
