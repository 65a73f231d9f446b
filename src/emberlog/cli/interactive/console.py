"""Holds one conversation of `emberlog repl`: lines go in, texts come out, and a mistake loses nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from emberlog.cli.interactive.commands import COMMANDS
from emberlog.cli.interactive.engine import Engine
from emberlog.cli.interactive.workbook import Entry, Workbook
from emberlog.cli.terminal import warnings_told
from emberlog.diagnostics import Diagnostic, Diagnostics, EmberlogError, nearest, render
from emberlog.logical.summary import counted
from emberlog.render.answer_text import answer_text
from emberlog.semantics.model import CheckedProgram
from emberlog.source import Source
from emberlog.syntax import ast
from emberlog.syntax.lexer import tokenize
from emberlog.syntax.parser import parse
from emberlog.text_widths import terminal_width

NOTICEABLE = 0.5
"""Seconds; an answer that takes longer says how long it took."""


class Console:
    def __init__(
        self,
        engine: Engine,
        params: Mapping[str, ast.Given],
        write: Callable[[str], None],
        *,
        show: int,
        colour: bool = False,
    ) -> None:
        self.workbook = Workbook(dict(params))
        self.mistakes = 0
        self.is_over = False
        self.write = write
        self._engine = engine
        self._show = show
        self._colour = colour
        self._lines: list[str] = []
        self._texts_read = 0
        self._warned: set[Diagnostic] = set()

    @property
    def is_in_a_statement(self) -> bool:
        """Tells whether a statement has begun and waits for its end."""
        return bool(self._lines)

    def feed(self, line: str) -> None:
        """Takes one line. A statement may go over several; an empty line ends it too. Commands are taken in its middle
        as well, and it goes on behind them."""
        name, _, argument = line.strip().partition(" ")
        if name in COMMANDS or (not self._lines and name.startswith(".")):
            self._guarded(lambda: self._command(name, argument.strip()))
            return
        if line.strip():
            self._lines.append(line)
        text = "\n".join(self._lines)
        if text and (not line.strip() or is_complete(text)):
            self._lines.clear()
            self._guarded(lambda: self._statements(text))

    def forget_unfinished(self) -> None:
        self._lines.clear()

    # --- for commands -----------------------------------------------------------------------------------------------

    def keep(self, statements: Iterable[ast.Statement], files: Mapping[str, Path] | None = None) -> None:
        """Adds to the program what makes it grow, if it is right with it, and answers the queries."""
        queries = [one for one in statements if isinstance(one, ast.Query)]
        others = tuple(one for one in statements if not isinstance(one, ast.Query))
        if others or files:
            entry = Entry(others, files or {})
            self._checked(self.workbook.program(others), {**self.workbook.files, **entry.files})
            self.workbook.entries.append(entry)
            for name in entry.relations:
                self.write(self.described(name))
        for query in queries:
            self.ask(query, self._show)

    def ask(self, query: ast.Query, show: int) -> None:
        program = self.workbook.program((query,))
        since = time.monotonic()
        for answer in self._engine.answer(program, self.workbook.params_of(program), self.workbook.files, show):
            hint = f".facts {answer.relation} shows the whole relation"
            self.write(answer_text(answer, hint=hint, width=terminal_width(sys.stdout)))
        seconds = time.monotonic() - since
        if seconds > NOTICEABLE:
            self.write(f"  ({seconds:.1f} s)")

    def checked(self, more: Iterable[ast.Statement] = ()) -> CheckedProgram:
        return self._checked(self.workbook.program(more), self.workbook.files)

    def described(self, relation: str) -> str:
        """`tc: 2 rules`"""
        rules, facts = self.workbook.rules_and_facts(relation)
        parts = [counted(rules, "rule")] if rules else []
        parts += [counted(facts, "fact")] if facts else []
        parts += [f"facts from {self.workbook.files[relation]}"] if relation in self.workbook.files else []
        return f"{relation}: {', '.join(parts) or 'declared'}"

    # --- inside -----------------------------------------------------------------------------------------------------

    def _command(self, name: str, argument: str) -> None:
        command = COMMANDS.get(name)
        if command is None:
            guess = nearest(name, COMMANDS)
            self.write(f"there is no command {name}; " + (f"did you mean {guess}?" if guess else ".help lists them"))
        elif not argument and command.needs_argument:
            self.write(f"write {name} {command.argument}")
        else:
            command.run(self, argument)

    def _statements(self, text: str) -> None:
        self._texts_read += 1
        types = frozenset(one.name for one in self.workbook.statements if isinstance(one, ast.TypeDeclaration))
        self.keep(parse(Source(f"input {self._texts_read}", text), types).statements)

    def _checked(self, program: ast.Program, files: Mapping[str, Path]) -> CheckedProgram:
        return self._engine.check(program, self.workbook.params_of(program), files)

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            with warnings_told(self.write, self._warned, colour=self._colour):
                action()
        except EmberlogError as error:
            self._tell(error.diagnostics)
            self.mistakes += 1
        except KeyboardInterrupt:
            self.write("interrupted; nothing that was entered before is lost")

    def _tell(self, diagnostics: Sequence[Diagnostic]) -> None:
        if diagnostics:
            self.write(render(diagnostics, colour=self._colour))


def is_complete(text: str) -> bool:
    """Tells whether a text is a comment, or ends with a full stop or a question mark outside comments and strings."""
    diagnostics = Diagnostics()
    tokens, _ = tokenize(Source("input", text), diagnostics)
    if len(tokens) == 1:
        return not diagnostics.has_errors
    return tokens[-2].is_symbol(".", "?")
