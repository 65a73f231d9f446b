"""Numbers the texts of a stream, and remembers them as long as some fact has them.

Numbers are small, and those of forgotten texts are given out again: what is looked up by a text is then looked up
directly, however long the stream runs.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from emberlog.workers.kernels.lanes import Lane
from emberlog.workers.store.texts import FEW, Column, Texts, dictionary_of


class StreamTexts(Texts):
    """Is a table of texts that grows and shrinks while it is read."""

    def __init__(self) -> None:
        super().__init__()
        self._codes: dict[str, int] = {}
        self._texts_by_code: list[str] = []
        self._free: list[int] = []
        self._array: pa.LargeStringArray = pa.array([], pa.large_string())
        """Texts to take many from at once; it lacks the newest, and has some that are forgotten."""
        self._places = np.empty(0, np.int64)
        """The place of each text in the array, by its number."""
        self._new: list[int] = []
        """The numbers of the texts that the array does not have yet."""

    def write(self, texts: Iterable[str]) -> None:
        """Numbers texts of the program, which are never forgotten."""
        self.written.update((text, self._code(text)) for text in texts)

    def _code(self, text: str) -> int:
        code = self._codes.get(text)
        if code is None:
            if self._free:
                code = self._free.pop()
                self._texts_by_code[code] = text
            else:
                code = len(self._texts_by_code)
                self._texts_by_code.append(text)
            self._codes[text] = code
            self._new.append(code)
        return code

    def unknown(self, columns: Iterable[pa.ChunkedArray]) -> list[str]:
        """Lists the texts of these columns that have no number yet, each once."""
        found = dict.fromkeys(text for column in columns for text in column.unique().to_pylist())
        return [text for text in found if text is not None and text not in self._codes]

    def learn(self, texts: Iterable[str]) -> None:
        """Numbers texts, in this order."""
        for text in texts:
            self._code(text)

    def encode(self, column: Column) -> Lane:
        dictionary, places = dictionary_of(column)
        texts = dictionary.to_pylist()
        known = zip(texts, map(self._codes.get, texts), strict=True)
        codes = np.array([self._code(text) if code is None else code for text, code in known], np.int64)
        lane: Lane = codes[places]
        return lane

    def decode(self, lane: Lane) -> pa.LargeStringArray:
        texts = self._texts_by_code
        if len(lane) * FEW < len(texts):
            return pa.array([texts[code] for code in lane.tolist()], pa.large_string())
        self._bring_up_to_date()
        return self._array.take(pa.array(self._places[lane]))

    def _bring_up_to_date(self) -> None:
        """Puts new texts behind those of the array, also where they have the number of a forgotten one."""
        texts, new = self._texts_by_code, self._new
        if len(self._array) + len(new) > 2 * len(texts):
            self._array, self._places = pa.array(texts, pa.large_string()), np.arange(len(texts))
        elif new:
            places = np.resize(self._places, len(texts))
            places[new] = np.arange(len(self._array), len(self._array) + len(new))
            added = pa.array([texts[code] for code in new], pa.large_string())
            self._array, self._places = pa.concat_arrays([self._array, added]), places
        self._new = []

    def forget_all_but(self, lanes: Iterable[Lane]) -> None:
        """Forgets all texts but those of these lanes, and the program's own."""
        is_used = np.zeros(len(self._texts_by_code), np.bool_)
        is_used[list(self.written.values())] = True
        for lane in lanes:
            is_used[lane] = True
        unused = np.flatnonzero(~is_used).tolist()
        self._codes = {text: code for text, code in self._codes.items() if is_used[code]}
        for code in unused:
            self._texts_by_code[code] = ""
        self._free = unused

    def __len__(self) -> int:
        return len(self._codes)
