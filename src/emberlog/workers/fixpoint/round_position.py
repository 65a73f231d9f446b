"""How far a round has come: a long one can be gone on with in its middle."""

from __future__ import annotations

from collections.abc import Iterator

from emberlog.workers.kernels.lanes import Lane
from emberlog.workers.recover.checkpoints import SavedState, StateToSave

_RULE, _ROW = "rule", "row"


class RoundPosition:
    """Rules read the delta one after the other, in batches; whoever asks for the next one is through with the last."""

    def __init__(self, rule: int = 0, row: int = 0) -> None:
        self.rule = rule
        """The one under way."""
        self.row = row
        """Of the delta that it reads: the first that it is not through with."""
        self._begun = -1

    def begin_rule(self) -> int | None:
        """The row with which the next rule begins; None if it was through with all of them before."""
        self._begun += 1
        if self._begun < self.rule:
            return None
        if self._begun > self.rule:
            self.rule, self.row = self._begun, 0
        return self.row

    def counted(self, batches: Iterator[list[Lane]]) -> Iterator[list[Lane]]:
        for batch in batches:
            yield batch
            self.row += len(batch[0])

    def save(self, state: StateToSave) -> None:
        state.number(_RULE, self.rule)
        state.number(_ROW, self.row)

    @staticmethod
    def saved(state: SavedState) -> RoundPosition:
        return RoundPosition(state.number(_RULE), state.number(_ROW))
