"""Fixed numba kernels over batches of 64-bit lanes, compiled once and cached on disk.

A batch of rows is a two-dimensional int64 array, one row of the array per column ("lane") of the relation.
Floats are stored as ints in the same order (see `lanes`), so one set of kernels serves every type.
"""
