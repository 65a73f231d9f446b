"""Defines the commands of a conversation: lines that begin with a full stop."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from emberlog.cli.fact_files import facts_beside, files_in_folder, relation_of_file
from emberlog.cli.parameters import parse_parameter
from emberlog.cli.program_files import PROGRAM_OF_FOLDER, read_source, write_text
from emberlog.diagnostics import EmberlogError, nearest
from emberlog.dialects import parse_tolerantly
from emberlog.language.registry import BUILT_IN, PROCEDURES
from emberlog.logical.summary import counted
from emberlog.source import NOWHERE, Source
from emberlog.syntax import ast
from emberlog.syntax.ast import given_constant
from emberlog.syntax.printer import print_expression, print_program, print_statement

if TYPE_CHECKING:
    from emberlog.cli.interactive.console import Console

Action: TypeAlias = Callable[["Console", str], None]

ALL = 1_000_000
"""Facts that `.facts RELATION` shows at most."""


@dataclass(frozen=True, slots=True)
class Command:
    argument: str
    """As the help shows it; in brackets if it may be left out."""
    help: str
    run: Action

    @property
    def needs_argument(self) -> bool:
        return bool(self.argument) and not self.argument.startswith("[")


def _help(console: Console, topic: str) -> None:
    if topic:
        console.write(_help_on(topic))
        return
    width = max(len(f"{name} {command.argument}") for name, command in COMMANDS.items())
    lines = [f"  {f'{name} {one.argument}':{width}}  {one.help}" for name, one in COMMANDS.items()]
    console.write("\n".join([*_STATEMENTS_HELP, *lines]))


_STATEMENTS_HELP = (
    "  arc(1, 2).                 a fact",
    "  tc(X, Y) :- arc(X, Y).     a rule; it may go over several lines",
    "  tc(1, Y)?                  a query, answered at once",
    "",
)


def _help_on(topic: str) -> str:
    """Returns what is known of a command, an error code, a function or an aggregate."""
    from emberlog.catalogue import CATALOGUE, entry_text

    name = topic if topic.startswith(".") else f".{topic}"
    if name in COMMANDS:
        return f"{f'{name} {COMMANDS[name].argument}'.strip()}  {COMMANDS[name].help}"
    if topic.upper() in CATALOGUE:
        return entry_text(CATALOGUE[topic.upper()])
    known = {
        **{name: f"{one.signature}  {one.meaning}" for name, one in BUILT_IN.scalars.items()},
        **{name: f"{one.signature}  {one.meaning}" for name, one in BUILT_IN.aggregates.items()},
        **PROCEDURES,
    }
    if topic in known:
        return known[topic]
    guess = nearest(topic, [*(one[1:] for one in COMMANDS), *known])
    return f"there is no help on {topic}" + (f"; did you mean {guess}?" if guess else "")


def _read(source: Source) -> ast.Program:
    """Returns a program in either language; raises EmberlogError with every syntax error."""
    program = parse_tolerantly(source)
    if not program.is_readable:
        raise EmberlogError(program.problems)
    return program


def _load(console: Console, argument: str) -> None:
    path = Path(argument).expanduser()
    program = path / PROGRAM_OF_FOLDER if path.is_dir() else path
    if program.suffix == ".dl" and (program.exists() or not path.is_dir()):
        folder = facts_beside(program)
        console.keep(_read(read_source(str(program))).statements, files_in_folder(folder) if folder else {})
    elif path.is_dir():
        console.keep((), files_in_folder(path))
    else:
        console.keep((), {relation_of_file(path): path})


def _facts(console: Console, relation: str) -> None:
    if not relation:
        names = console.workbook.relations
        console.write("\n".join(map(console.described, names)) or "nothing was entered yet")
        return
    relations = console.checked().relations
    if relation not in relations:
        guess = nearest(relation, relations)
        console.write(f"there is no relation {relation}" + (f"; did you mean {guess}?" if guess else ""))
        return
    terms = tuple(ast.Wildcard() for _ in relations[relation].columns)
    console.ask(ast.Query(ast.Atom(relation, terms)), ALL)


def _rules(console: Console, _: str) -> None:
    console.write(print_program(console.workbook.program()).rstrip("\n") or "nothing was entered yet")


def _param(console: Console, argument: str) -> None:
    try:
        name, value = parse_parameter(argument)
    except ArgumentTypeError as error:
        console.write(str(error))
        return
    console.workbook.params[name] = value
    console.write(f"${name} is {print_expression(given_constant(value, NOWHERE))}")


def _explain(console: Console, argument: str) -> None:
    if argument[:2].upper() == "DL" and argument[2:].isdigit():
        from emberlog.catalogue import CATALOGUE, entry_text

        entry = CATALOGUE.get(argument.upper())
        console.write(entry_text(entry) if entry else f"there is no code {argument.upper()}")
        return
    from emberlog.logical.build import build
    from emberlog.logical.connection_graph import build_connection_graph
    from emberlog.optimize.pipeline import plan_program
    from emberlog.render.plan_text import explain_text

    checked = console.checked(_read(Source("query", argument)).statements)
    plan = build(checked)
    console.write(explain_text(checked, build_connection_graph(checked), plan, plan_program(checked)))


def _undo(console: Console, _: str) -> None:
    if not console.workbook.entries:
        console.write("there is nothing to undo")
        return
    entry = console.workbook.entries.pop()
    lines = [print_statement(statement) for statement in entry.statements]
    lines += [f"the facts of {name} from {path}" for name, path in entry.files.items()]
    console.write("\n".join(f"taken back: {line}" for line in lines))


def _save(console: Console, argument: str) -> None:
    write_text(argument, print_program(console.workbook.program()))
    console.write(f"{argument}: {counted(len(console.workbook.statements), 'statement')} written")


def _quit(console: Console, _: str) -> None:
    console.is_over = True


COMMANDS: Mapping[str, Command] = {
    ".help": Command("[NAME]", "this list; what a command, a function or a code is for", _help),
    ".load": Command("PATH", "a program, a file of facts named after its relation, or a folder of them", _load),
    ".facts": Command("[RELATION]", "what there is; all facts of a relation", _facts),
    ".rules": Command("", "everything entered, written neatly", _rules),
    ".param": Command("NAME=VALUE", "the value of $NAME", _param),
    ".explain": Command("[QUERY|CODE]", "the plan; what an error code means", _explain),
    ".undo": Command("", "take the last entry back", _undo),
    ".save": Command("FILE", "write everything entered to a file", _save),
    ".quit": Command("", "leave; so does Ctrl-D", _quit),
}
