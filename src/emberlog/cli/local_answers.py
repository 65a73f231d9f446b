"""Takes from the results of a local run what is shown of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emberlog.cli.answers import Answer, answer_of

if TYPE_CHECKING:
    from emberlog.io.local_relation import LocalRelation
    from emberlog.result import Result


def read_local_answers(result: Result[LocalRelation], show: int) -> list[Answer]:
    """The number of facts of each answer, and the first of them in order."""
    checked = result.explained.checked
    return [answer_of(checked, name, relation.first(show), relation.count()) for name, relation in result.items()]
