"""Computes the classes that links make by uniting sets, where round by round it could take a round for each link."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emberlog.workers.kernels.unions import smallest_of_sets


def smallest_of_classes(links: pa.Table) -> tuple[pa.Array, pa.Array] | None:
    """Returns all elements of the links and beside each the smallest one of its class; None for values other than
    numbers and texts."""
    columns = [column.combine_chunks() for column in links.columns]
    columns = [column.dictionary_decode() if pa.types.is_dictionary(column.type) else column for column in columns]
    type_ = columns[0].type
    is_ordered = pa.types.is_integer(type_) or pa.types.is_string(type_) or pa.types.is_large_string(type_)
    if not is_ordered or columns[1].type != type_:
        return None
    elements = pc.unique(pa.chunked_array(columns))
    elements = elements.take(pc.array_sort_indices(elements))
    first, second = (np.asarray(pc.index_in(column, value_set=elements)).astype(np.int64) for column in columns)
    return elements, elements.take(pa.array(smallest_of_sets(first, second, len(elements))))
