"""Reads the options of `%datalog` and `%%datalog`."""

from __future__ import annotations

import argparse
import io
import shlex
from collections.abc import Sequence
from typing import Any, NoReturn

from IPython.core.error import UsageError

from emberlog.cli.help_text import HelpFormatter
from emberlog.cli.parameters import (
    Parser,
    parse_parameter,
    positive_int,
    positive_number,
    whole_number,
)
from emberlog.faces import ROWS_SHOWN

ENGINES = ("spark", "local")

HELP = """\
A relation that the program reads and does not define is taken from the notebook: from a variable of that name that
holds a table (pandas, polars, Arrow, DuckDB, Spark, a list of tuples, a pathlib.Path), or else from the last result
that has a relation of that name. A parameter $name that is not given by --param is the variable of that name.
"""


class Options(Parser):
    """Raises what IPython shows as one line, where a command would end its process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise UsageError(message or "")


def parser() -> Options:
    """Returns the parser of the options that both have."""
    options = Options(prog="%%datalog", add_help=False, allow_abbrev=False, epilog=HELP)
    options.formatter_class = HelpFormatter
    options.add_argument("name", nargs="?", help="the variable that the result is bound to")
    options.add_argument("--engine", choices=ENGINES, help="Spark, or this process (Spark if a session is active)")
    options.add_argument("--db", metavar="NAME", help="the variable with the Database to use, with what it has")
    options.add_argument(
        "--param",
        dest="params",
        metavar="NAME=VALUE",
        action="append",
        type=_parameter,
        default=[],
        help="the value of $NAME; NAME=$OTHER is the variable OTHER",
    )
    options.add_argument("--iterations", metavar="N", type=positive_int, help="N rounds at most")
    options.add_argument("--timeout", metavar="SECONDS", type=positive_number, help="stop with an error after that")
    options.add_argument(
        "--show", metavar="N", type=whole_number, default=ROWS_SHOWN, help=f"facts of an answer shown ({ROWS_SHOWN})"
    )
    options.add_argument("--provenance", action="store_true", help="record what why, why_not and trace need")
    options.add_argument("--profile", action="store_true", help="show where the time went")
    options.add_argument(
        "--warnings", choices=("show", "error", "ignore"), default="show", help="show them, or end at the first (show)"
    )
    return options


def _parameter(text: str) -> tuple[str, Any]:
    """Reads `source=977`, and `source=$start`, which is left for the variables."""
    name, _, value = text.partition("=")
    return (name, Variable(value[1:])) if value[:1] == "$" and value[1:].isidentifier() else parse_parameter(text)


class Variable(str):
    """Names a variable whose value is wanted."""


def words_of(line: str) -> list[str]:
    """Splits what stands behind `%%datalog` into words, as a shell does."""
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"this line cannot be read: {str(error).lower()}") from None


def leading_options(text: str, known: argparse.ArgumentParser) -> tuple[Sequence[str], str]:
    """Splits what stands behind `%datalog` into the words of its options and the program."""
    with_value = {option for action in known._actions if action.nargs is None for option in action.option_strings}
    words: list[str] = []
    place = 0
    while text[place:].lstrip().startswith("--"):
        reader = shlex.shlex(stream := io.StringIO(text[place:]), posix=True)
        reader.whitespace_split, reader.commenters = True, ""
        try:
            taken = [str(reader.get_token())]
            if taken[0] in with_value and (value := reader.get_token()) is not None:
                taken.append(value)
        except ValueError as error:
            raise UsageError(f"this line cannot be read: {str(error).lower()}") from None
        words += taken
        place += stream.tell()
    return words, text[place:].strip()
