"""`emberlog check`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from textwrap import dedent

import pytest

from tests.unit.cli.conftest import Emberlog

TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"


def test_a_fine_program_is_described(emberlog: Emberlog) -> None:
    Path("tc.dl").write_text(TC)
    outcome = emberlog("check", "tc.dl")
    summary = "tc.dl: 2 relations (1 input, 1 derived), 2 rules, 1 stratum (1 recursive)\n"
    assert outcome == (0, f"{summary}  input arc(X, Y)\n", "")


def test_inputs_are_named_with_what_is_known_of_their_columns(emberlog: Emberlog) -> None:
    Path("in.dl").write_text(
        "declare hub(city: string).\np(X) :- arc(X, _, 3), !hub(X), len(X) > 2, open.\ndeclare open().\n"
    )
    assert emberlog("check", "in.dl").out.splitlines()[1:] == [
        "  input hub(city: string)",
        "  input open(holds: bool)",
        "  input arc(X: string, _, _: int)",
    ]


def test_a_recursive_aggregate_says_which_case_applied_and_why(emberlog: Emberlog) -> None:
    Path("a.dl").write_text("s(X, min<D>) :- start(X, D).\ns(Y, min<D>) :- s(X, C), arc(X, Y), D = C + 1.\n")
    lines = emberlog("check", "a.dl").out.splitlines()
    assert lines[1:3] == ["  input start(X, D)", "  input arc(X, Y)"]
    assert len(lines) == 4
    assert lines[3].startswith("  s: meet aggregate; min: ")


def test_errors_and_the_closing_line(emberlog: Emberlog) -> None:
    Path("fares.dl").write_text("trip(A, B, Total) :- leg(A, B).\nbad(X) :- leg(X).\nfrom(A) :- leg(A, B).\n")
    outcome = emberlog("check", "fares.dl")
    assert outcome.code == 1
    assert outcome.err == ""
    assert outcome.out.endswith("\n\n2 errors, 1 warning (emberlog explain DL203 tells more)\n")
    assert "  ┌ fares.dl:1:12\n" in outcome.out


def test_a_warning_alone_is_no_error(emberlog: Emberlog) -> None:
    Path("w.dl").write_text("p(X) :- e(X, Once).\n")
    outcome = emberlog("check", "w.dl")
    assert outcome.code == 0
    assert outcome.out.endswith(
        "w.dl: 2 relations (1 input, 1 derived), 1 rule, 1 stratum\n  input e(X, Once)\n"
        "1 warning (emberlog explain DL290 tells more)\n"
    )


def test_several_files_are_all_checked(emberlog: Emberlog) -> None:
    Path("tc.dl").write_text(TC)
    Path("bad.dl").write_text("p(X :- q(X).\n")
    outcome = emberlog("check", "bad.dl", "nowhere.dl", "tc.dl")
    assert outcome.code == 1
    assert "error[DL110]" in outcome.out
    assert "error[DL405]: cannot read `nowhere.dl`: no such file or directory" in outcome.out
    assert "tc.dl: 2 relations" in outcome.out
    assert outcome.out.endswith("2 errors (emberlog explain DL110 tells more)\n")


def test_errors_are_shown_before_a_flood_of_warnings(emberlog: Emberlog) -> None:
    warnings = "".join(f"p{i}(X) :- e(X, Once).\n" for i in range(60))
    Path("many.dl").write_text(f"{warnings}bad(X) :- e(Y, Y).\n")
    outcome = emberlog("check", "many.dl")
    assert outcome.out.startswith("error[DL203]")
    assert "… and 1" in outcome.out


def test_standard_input(emberlog: Emberlog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"p(X) :- q(X)")))
    outcome = emberlog("check", "-")
    assert outcome.code == 1
    assert "┌ <stdin>:1:12" in outcome.out


def test_standard_input_is_called_so(emberlog: Emberlog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TC.encode())))
    assert emberlog("check", "-").out.startswith("<stdin>: 2 relations")


def test_a_file_that_is_not_utf8(emberlog: Emberlog) -> None:
    Path("latin.dl").write_bytes(b'city("Berlin").\ncity("K\xf6ln").\n')
    outcome = emberlog("check", "latin.dl")
    assert outcome.code == 1
    assert outcome.out == dedent("""\
        error[DL406]: `latin.dl` is not text in UTF-8
          = line 2 has the byte 0xf6, which cannot stand there
          = save the file as UTF-8

        1 error (emberlog explain DL406 tells more)
        """)


def test_a_byte_order_mark_and_windows_line_ends_are_no_matter(emberlog: Emberlog) -> None:
    Path("windows.dl").write_bytes(b"\xef\xbb\xbfp(X) :- q(X).\r\n% done\r\n")
    assert emberlog("check", "windows.dl").code == 0


def test_a_folder_cannot_be_read(emberlog: Emberlog) -> None:
    assert "error[DL405]: cannot read `.`" in emberlog("check", ".").out


def test_a_name_with_a_null_character(emberlog: Emberlog) -> None:
    assert "error[DL405]" in emberlog("check", "a\0b").out


@pytest.mark.parametrize(("arguments", "code"), [((), 0), (("--param", "source=3"), 0), (("--param", "sorce=3"), 1)])
def test_parameters_may_be_left_open(emberlog: Emberlog, arguments: tuple[str, ...], code: int) -> None:
    Path("p.dl").write_text("p(Y) :- arc($source, Y).\n")
    assert emberlog("check", "p.dl", *arguments).code == code


def test_iterations_bound_a_recursion_that_needs_it(emberlog: Emberlog) -> None:
    Path("r.dl").write_text("r(X, sum<V>) :- n(X, V).\nr(Y, sum<V>) :- r(X, V), arc(X, Y).\n")
    assert emberlog("check", "r.dl").code == 1
    outcome = emberlog("check", "r.dl", "--iterations", "20")
    assert outcome.code == 0
    assert "  r: bounded iteration; " in outcome.out


def test_streams_are_described(emberlog: Emberlog) -> None:
    Path("s.dl").write_text("STREAM ride(Ts: timestamp, Fare: float).\ncheap(T, F) :- ride(T, F), F < 5.0.\n")
    assert emberlog("check", "s.dl").out.splitlines()[1:] == [
        "  ride: a stream, its time is Ts",
        "  cheap: derived from a stream; T is when a fact became true and does not identify it",
    ]


def test_json(emberlog: Emberlog) -> None:
    Path("tc.dl").write_text(TC)
    Path("bad.dl").write_text("p(X) :- q(Y, Y).\n")
    outcome = emberlog("check", "--json", "tc.dl", "bad.dl")
    assert outcome.code == 1
    found = json.loads(outcome.out)
    fine, bad = found["programs"]
    assert bad == {"file": "bad.dl", "ok": False}
    assert fine["ok"] and fine["outputs"] == ["tc"]
    assert fine["relations"][0]["columns"][0] == {"name": "X", "type": "unknown", "aggregate": None}
    assert fine["strata"][0]["case"] == "set semantics"
    (diagnostic,) = found["diagnostics"]
    assert diagnostic["code"] == "DL203"
    assert diagnostic["range"]["start"] == {"line": 1, "column": 3}


def test_slips_of_the_pen_are_told(emberlog: Emberlog) -> None:
    Path("s.dl").write_text("tc(X, Y) :- edge(X, Y).\ntc(X, Z) :- tc(X, Y), egde(Y, Z).\n")
    outcome = emberlog("check", "s.dl")
    assert outcome.code == 0
    assert "warning[DL291]: `egde` has no rules, facts or declaration, so it is taken as an input\n" in outcome.out
    assert "  = did you mean `edge`? if it is an input, declare it: `declare egde(…).`\n" in outcome.out
    assert "  input edge(X, Y)\n  input egde(Y, Z)\n" in outcome.out
