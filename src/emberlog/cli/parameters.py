"""Adds the options that several commands have, and reads what is given for them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from emberlog.cli.help_text import HelpFormatter

if TYPE_CHECKING:
    from emberlog.config import Limits
    from emberlog.syntax.ast import Given

_INT = re.compile(r"[+-]?\d+")
_FLOAT = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+)([eE][+-]?\d+)?")


class Parser(argparse.ArgumentParser):
    """Says of an option that does not exist which one was probably meant."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        from emberlog.diagnostics import nearest

        found, others = super().parse_known_args(args, namespace)
        options = [option for action in self._actions for option in action.option_strings]
        for other in others:
            guess = nearest(other.split("=")[0], options) if other.startswith("--") else None
            if guess is not None:
                self.error(f"there is no option {other.split('=')[0]}; did you mean {guess}?")
        return found, others


def add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], int], *, help: str, description: str, examples: str
) -> argparse.ArgumentParser:
    """Adds a command, which `run` carries out, and returns the parser of its options."""
    parser: Parser = commands.add_parser(
        name,
        help=help,
        description=description,
        epilog=examples,
        formatter_class=HelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def add_program_options(parser: argparse.ArgumentParser) -> None:
    """Adds what a program may ask of its caller, its language, and what becomes of warnings about it."""
    add_parameter_option(parser)
    add_warning_option(parser)
    parser.add_argument(
        "--dialect",
        choices=("emberlog", "souffle"),
        help="the language of the program; by itself, a text with .decl and the like is Soufflé's",
    )
    add_include_option(parser)
    parser.add_argument(
        "--iterations",
        metavar="N",
        type=positive_int,
        help="N rounds at most, for recursions that are legal only with a bound, as @iterations(N). says in a program",
    )


def add_include_option(parser: argparse.ArgumentParser) -> None:
    """Adds where the files are that a program of Soufflé includes."""
    parser.add_argument(
        "-I",
        "--include",
        metavar="DIR",
        action="append",
        default=[],
        help="a folder of files that a program of Soufflé includes, and that are not beside it; may be repeated",
    )


def add_warning_option(parser: argparse.ArgumentParser) -> None:
    """Adds what becomes of warnings."""
    parser.add_argument(
        "--warnings",
        choices=("show", "error", "ignore"),
        default="show",
        help="show them, end with exit code 1 at the first one, or leave them out (show)",
    )


def add_parameter_option(parser: argparse.ArgumentParser) -> None:
    """Adds the values of a program's parameters."""
    parser.add_argument(
        "--param",
        dest="params",
        metavar="NAME=VALUE",
        action="append",
        type=parse_parameter,
        default=[],
        help="the value of $NAME; a constant of programs, or a text. Quotes make it a text: --param 'code=\"007\"'",
    )


def parse_parameter(text: str) -> tuple[str, Given]:
    """Reads `source=977`."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"write NAME=VALUE, as in source=977, not `{text}`")
    return name, parse_value(value)


def parse_value(text: str) -> Given:
    """Reads a constant as programs write it, or a text, which needs no quotes."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return _constant(text) or text


def _constant(text: str) -> Given | None:
    """Returns what the text writes if programs have a constant for it: `null`, `date "2026-01-05"`, `3 days`."""
    from emberlog.diagnostics import EmberlogError
    from emberlog.source import Source
    from emberlog.syntax import ast
    from emberlog.syntax.parser import parse

    try:
        statements = parse(Source("<parameter>", f"p({text}).")).statements
    except EmberlogError:
        return None
    match statements:
        case (ast.Rule(ast.Head(terms=(ast.Constant() as constant,), names=()), None, others=()),):
            return constant
        case _:
            return None


def positive_int(text: str) -> int:
    if not _INT.fullmatch(text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number larger than 0 is needed, not `{text}`")
    return int(text)


def whole_number(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"a whole number is needed, not `{text}`")
    return int(text)


def positive_number(text: str) -> float:
    if not _FLOAT.fullmatch(text) or float(text) <= 0:
        raise argparse.ArgumentTypeError(f"a number larger than 0 is needed, not `{text}`")
    return float(text)


def as_mapping(params: Sequence[tuple[str, Given]]) -> dict[str, Given]:
    """Returns the values by name; the last one given for a name counts."""
    return dict(params)


def named_path(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if not equals or not name.isidentifier() or not path:
        raise argparse.ArgumentTypeError(f"write RELATION=PATH, as in arc=roads.csv, not `{text}`")
    return name, path


def setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"write NAME=VALUE, as in spark.driver.memory=4g, not `{text}`")
    return name, value


ONE_RELATION = "the facts of one relation; may be repeated, and goes before --facts"


def add_fact_options(group: Any, input_help: str = ONE_RELATION) -> None:
    """Adds where the facts are that a program reads."""
    group.add_argument("--facts", metavar="DIR", help="a folder with a file for each relation; default: facts/")
    group.add_argument(
        "--input",
        dest="inputs",
        metavar="RELATION=PATH",
        action="append",
        type=named_path,
        default=[],
        help=input_help,
    )
    add_text_options(group)


def add_text_options(group: Any) -> None:
    """Adds how text files are spelled."""
    group.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="text files begin with the names of their columns, or do not",
    )
    group.add_argument(
        "--delimiter", metavar="CHAR", help="what separates their cells (a comma; of .tsv, .facts a tab)"
    )
    group.add_argument("--encoding", metavar="NAME", help="of text files (utf-8)")
    group.add_argument("--null", metavar="TEXT", help=r"the cell that is null (\N)")
    group.add_argument(
        "--raw", dest="quote", action="store_const", const="", help="quotes are text like any other, as in .facts"
    )
    group.add_argument(
        "--quoted", dest="quote", action="store_const", const='"', help="cells may stand in quotes, as in .csv and .tsv"
    )


def given_text_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns what is said of text files, by the names of `Database.register`."""
    names = ("header", "delimiter", "encoding", "null", "quote")
    return {name: value for name in names if (value := getattr(arguments, name)) is not None}


def text_options_named(arguments: argparse.Namespace) -> dict[str, object]:
    """Returns the options of text files that are given, as a person writes them."""
    given = given_text_options(arguments)
    quotes = {"--raw" if quote == "" else "--quoted": True for quote in [given.pop("quote", None)] if quote is not None}
    return {**{f"--{name}": True for name in given}, **quotes}


def refuse(who: str, given: Mapping[str, object], reason: str) -> None:
    """Raises an error that names the options which are set, as nothing would come of them."""
    from emberlog.config import refuse_options

    refuse_options(who, [name for name, value in given.items() if value], dict.fromkeys(given, reason))


def refuse_spark_options(arguments: argparse.Namespace) -> None:
    """Raises an error if a run in this process is given options of Spark."""
    if arguments.engine == "local":
        given = {"--master": arguments.master, "--conf": arguments.conf}
        refuse("a run in this process", given, "leave it out, or say --engine spark")


def add_spark_options(group: Any) -> None:
    """Adds which Spark runs a program."""
    group.add_argument("--master", metavar="URL", help="where Spark runs (local[*])")
    group.add_argument(
        "--conf",
        metavar="NAME=VALUE",
        action="append",
        type=setting,
        default=[],
        help="a setting of Spark; may be repeated",
    )


def add_limit_options(parser: argparse.ArgumentParser) -> None:
    """Adds what a run may use before it is stopped."""
    group = parser.add_argument_group(
        "limits", "A run that passes one is stopped, with an error that says how far it came."
    )
    group.add_argument("--max-iterations", metavar="N", type=positive_int, help="rounds of one recursion (100,000)")
    group.add_argument("--max-rows", metavar="N", type=positive_int, help="facts derived in all (10,000,000,000)")
    group.add_argument("--timeout", metavar="SECONDS", type=positive_number, help="seconds (no limit)")


def limits_of(arguments: argparse.Namespace) -> Limits:
    """Returns the limits that are set."""
    from emberlog.config import Limits

    names = ("max_iterations", "max_rows", "timeout")
    given = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    return Limits(**given)
