"""Completes relations, functions and options in cells of `%%datalog` and lines of `%datalog`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from IPython.core.completer import SimpleCompletion, context_matcher

from emberlog.cli.interactive.completion import Word, words_for
from emberlog.database import Database
from emberlog.notebook.variables import is_data, results_in, whole_relations

if TYPE_CHECKING:
    from emberlog.notebook.magics import DatalogMagics

_CELL = re.compile(r"\s*%%datalog\b")
_LINE = re.compile(r"(?:.*=)?\s*%datalog\b(.*)")

_MENU = {
    "relation": "class",
    "variable": "instance",
    "parameter": "param",
    "aggregate": "function",
    "option": "keyword",
}
"""Kinds of words by the icons that the menus of notebooks have for them; others have one by their own name."""


class Completer:
    def __init__(self, magics: DatalogMagics) -> None:
        self._magics = magics

    def match(self, context: Any) -> Any:
        """Returns what can stand at a place: IPython asks in every cell, and this answers in ours alone."""
        lines = context.full_text.split("\n")
        before = lines[context.cursor_line][: context.cursor_position]
        if _CELL.match(context.full_text):
            if context.cursor_line == 0:
                return _matched(*(self._options(before) or ("", [])))
            text = "\n".join(lines[1:])
            return _matched(*self._program(text, len("\n".join([*lines[1 : context.cursor_line], before]))))
        line = _LINE.fullmatch(before)
        if line is None:
            return {"completions": []}
        return _matched(*(self._options(line.group(1)) or self._program(line.group(1), len(line.group(1)))))

    def _options(self, before: str) -> tuple[str, list[Word]] | None:
        """Returns options or their values, if one of the two is begun."""
        words = re.split(r"[\s=]", before)
        begun, last = words[-1], words[-2] if len(words) > 1 else ""
        actions = {option: action for action in self._magics.parser._actions for option in action.option_strings}
        if begun.startswith("-"):
            return begun, [Word(option, "option") for option in actions if option.startswith(begun)]
        if last not in actions or actions[last].nargs == 0:
            return None
        values: Iterable[str] = actions[last].choices or ()
        if last == "--db":
            values = [name for name, value in self._magics.variables.items() if isinstance(value, Database)]
        return begun, [Word(value, "option") for value in values if value.startswith(begun)]

    def _program(self, text: str, offset: int) -> tuple[str, list[Word]]:
        variables = {name: value for name, value in self._magics.variables.items() if not name.startswith("_")}
        tables = [name for name, value in variables.items() if is_data(value)]
        derived = [name for result in reversed(results_in(variables)) for name in whole_relations(result)]
        parameters = [name for name, value in variables.items() if isinstance(value, str | int | float)]
        return words_for(text, offset, [*tables, *derived], parameters)


context_matcher()(Completer.match)


def _matched(begun: str, words: Sequence[Word]) -> Any:
    found = [SimpleCompletion(word.text, type=_MENU.get(word.kind, word.kind)) for word in words]
    return {"completions": found, "matched_fragment": begun, "suppress": True, "ordered": True}
