"""Where the benchmarks' inputs come from: exact generators, the papers' own files, and a cache of both."""
