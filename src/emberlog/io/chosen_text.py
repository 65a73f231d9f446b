"""Chooses columns of text files by name. A declaration says what their cells are; without one, the cells do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from emberlog.datatypes import TIMESTAMP, UNKNOWN
from emberlog.diagnostics import fail
from emberlog.io.intake import Source, TextSource
from emberlog.io.local_relation import LocalRelation
from emberlog.io.matching import check_arity, chosen_places, declared_order, has_plain_times
from emberlog.semantics.model import Column, Relation

Frame = TypeVar("Frame")


class ChosenText(Source[Frame]):
    """Holds some of the columns of text files."""

    def __init__(self, text: TextSource[Frame], columns: Sequence[str]) -> None:
        self._text = text
        self._chosen = tuple(columns)
        self._places()  # better said now than when a program reads it

    def _places(self) -> list[int]:
        return chosen_places(self._text.name, self._text.names(), self._chosen)

    def columns(self, declared: Sequence[Column] | None) -> Sequence[Column]:
        fits = declared if declared is not None and len(declared) == len(self._chosen) else None
        order = self._order(fits)
        places = self._places()
        types = self._text.types(self._in_file(fits, order))
        return [Column(self._chosen[one], types[places[one]]) for one in order]

    def relation(self, relation: Relation) -> Frame:
        check_arity(self._chosen, relation)
        order = self._order(relation.columns if relation.is_declared else None)
        places = self._places()
        return self._text.selected(
            relation,
            self._in_file(relation.columns, order),
            [places[one] for one in order],
            plain_times=self.has_plain_times(relation),
        )

    def original(self) -> Frame:
        return self._text.original_columns(self._places())

    def chosen(self, columns: Sequence[str]) -> ChosenText[Frame]:
        chosen_places(self._text.name, self._chosen, columns)
        return ChosenText(self._text, columns)

    def repeated_rows(self, relation: Relation) -> int | None:
        found = self.relation(relation)
        return found.repeated if isinstance(found, LocalRelation) else None

    def has_plain_times(self, relation: Relation) -> bool:
        if not relation.is_stream or all(column.type != TIMESTAMP for column in relation.columns):
            return False
        found = self.columns(None)
        order = self._order(relation.columns if relation.is_declared else None)
        return has_plain_times([found[one] for one in order], relation)

    def _order(self, declared: Sequence[Column] | None) -> list[int]:
        return declared_order(self._text.name, self._chosen, declared, is_chosen=True)

    def _in_file(self, columns: Sequence[Column] | None, order: Sequence[int]) -> list[Column]:
        """Returns all columns of the files, the chosen ones in the types of these, which are in another order."""
        places = self._places()
        found = [Column(name, UNKNOWN) for name in self._text.names()]
        for column, one in zip(columns or (), order, strict=columns is not None):
            before = found[places[one]].type
            if before not in (UNKNOWN, column.type):
                message = f"`{self._chosen[one]}` of `{self._text.name}` is chosen as {before} and as {column.type}"
                raise fail("DL403", message, None, "choose it once, and convert it in a rule")
            found[places[one]] = column
        return found
