"""Holds the numbers that tune workers: sizes, thresholds and times that change how fast a run is, never its result.

They were chosen by hand on small machines, and no record of that was kept unless a docstring says so. A benchmark or a
test that is named exercises the number: measure with it before you change it. Limits of formats and protocols are not
here. A test that needs another number sets it in the module that uses it.
"""

from __future__ import annotations

# Memory
LARGE_BYTES = 1 << 20
"""Bytes from which on an array is claimed from the budget before it is made. Asking the system takes microseconds, so
smaller arrays are not worth it. `tests/unit/workers/test_memory.py` runs with 0."""
LOOK_SECONDS = 0.005
"""Seconds between two looks at the used memory by those who claim nothing: a look takes as long as a small round."""
SHORT_OF_MEMORY = 0.5
"""Share of a budget that is in use when facts that can be elsewhere go to disk. The rest is for what a round needs
beside its facts. `tests/spark/test_cyclic_memory.py` tests that budgets hold."""
BYTES_BESIDE = 512
"""Bytes of a budget that a row takes while it is on its way, with everything that is made of it at the same time:
decides how many rows are made at once."""
FEWEST_AT_ONCE = 1 << 12
"""Rows that are made at once however small the budget is: with fewer, calling a kernel costs more than its work."""
MOST_HELD = 64 << 20
"""Bytes that are free and stay with a worker for what it needs next, because the system clears every page that it
hands out again. `tests/unit/workers/test_held_memory.py` tests it."""
MOST_CODE = 4 << 20
"""Bytes that a kernel takes when it is compiled or loaded; what it takes beyond that counts as facts."""
HELD_SHARE = 16
"""Part of a budget (one in so many) that may be held, where that is less than MOST_HELD."""
MEMORY_SHARE = 0.8
"""Share of the free memory that workers use: other processes need some, too."""
COPIES_IN_MEMORY = 4
"""How many times its own size a relation takes while it is fed: its rows, their order by key, and columns in that
order. Decides whether it fits before it is read."""
COPY_SHARE = 0.25
"""Share of the memory of a worker that a copy of a relation may take. One that takes more is spread, even where that
means an exchange in each round."""
KEPT_SHARE = 0.125
"""Share of the memory that workers could use which inputs and indexes take that are kept for later runs in the same
process."""
UNKNOWN_MEMORY = 4 << 30
"""Bytes that a worker is taken to have where nobody says how much it has."""
BYTES_IN_TABLE = 32
"""Bytes of a row beside its lanes, in the tables that combine what leaves a worker."""
PORTIONS = 16
"""Part of its memory (one in so many) that leaves a worker at a time; what comes from the others takes as much."""

# Hot keys
HOT_SHARE = 0.25
"""Rows of one value, as a part of what each worker would have if all had the same, from which on they are divided among
all workers."""
FEWEST_HOT = 1 << 10
"""Rows of a value that are worth dividing: who looks them up has to go to every worker."""
HOT_SAMPLE = 1 << 18
"""Rows of a relation that each worker looks at to find frequent values."""

# Batches
BATCH = 1 << 17
"""Rows that a chain begins with at a time: lanes of a batch stay in the cache, and numpy's overhead is small beside
them. The benchmarks `tc` and `cc` exercise it."""
JOINED_AT_ONCE = 1 << 22
"""Rows that a join which is not written out begins with at most. The benchmark `pagerank` exercises it."""
WORTH_A_LOOK = 1 << 14
"""Rows that a join has made before it looks at the used memory: a look is cheap beside so many."""
CHUNK = 1 << 18
"""Rows that a store enters at a time, so that its tables grow with what is new and not with what is derived."""
MOST_PAIRS = 1 << 19
"""Matches of a join that are expanded at a time, so that a heavy key does not fill the memory."""
FEWEST_PAIRS = 256
"""Room for matches that a join of few rows begins with."""
RESULT_BATCH = 1 << 20
"""Rows of a result that are handed on at a time."""
KNOWN_BATCH = 1 << 16
"""Rows that are handed to another executor, or to disk, at a time when memory is short."""
PIECES_PER_WORKER = 8
"""Pieces that a worker has of a relation that is dealt out: rows that stand together often cost as much as each
other, so a worker gets them from several places."""
FEW_ROWS = 1024
"""Rows of a bounded round that are compared with the round before first: most rounds differ, and show it early."""
COUNTED_AT_ONCE = 1 << 26
"""Facts of a closure that are counted between two looks at the clock."""
ENTRIES_AT_ONCE = 1 << 20
"""Words of a bit matrix that are gathered before they are added to their rows."""
VALUES_IN_LINE_BITS = 4
"""Bits of a value that do not count for which thread it belongs to: a line of the cache has the row numbers of 16 keys.
The benchmarks `pagerank` and `cc` exercise it."""
MANY_LINES = 1 << 16
"""Rows of a relation from which on that matters: a few values would all belong to one thread."""
PROBE_BLOCK = 256
"""Rows that a set looks up together: the processor fetches what they need from memory at the same time."""
AHEAD = 64
"""Rows by which a hash table is read ahead, for the same reason."""
NARROW_BLOCK = 1 << 15
"""Values of a checkpoint that are narrowed at a time: they stay in the cache from one step to the next."""

# Growth and direct lookups
FREE_RANGE = 1 << 22
"""Keys in a range of at most this are looked up directly, however few they are: memory that is never touched costs
nothing."""
DENSE_RANGE = 32
"""Places of a larger range for each key, up to which keys are looked up directly."""
WIDEST_RANGE = 1 << 28
"""Places that a direct lookup has at most, whatever the number of keys."""
SMALL_RANGE = 1 << 20
"""Keys of a packed index in a range of at most this are looked up directly, however few they are."""
AMPLE_GROWTH = 8
"""How many times its room a set asks for when it is full: memory that is not touched costs nothing, and to copy all
rows does. The benchmark `tc/grid150` exercises it."""
LARGE_SET = 1 << 20
"""Rows from which on a set asks for all the room that is left, up to LARGEST_GROWTH times its own."""
LARGEST_GROWTH = 256
"""How many times its room a large set asks for at most."""
FRUGAL_GROWTH = 8
"""Part of itself (one in so many) that a store grows by where memory is short."""

# Spilling and checkpoints
SPILL_BLOCK = 1 << 16
"""Rows that are written to disk, and read back, at a time at most."""
WORTH_WRITING = 1 << 16
"""Bytes that are worth a write: fewer wait for others."""
LEAST_WRITE = 1 << 12
"""Bytes that are written at once however small the budget is."""
SECTIONS = 32
"""Sections of a relation that does not fit into memory. One of them has to fit, with its share of a round."""
WAITING_SHARE = 1024
"""Part of its memory (one in so many) that waits for each write: a section has three files."""
FANOUT = 4
"""Slices that one is divided into when memory is short."""
DEEPEST = 8
"""Divisions one within the other: a slice that is still too large then has one heavy key, or what is read fills the
memory by itself."""
MOST_OF_THE_TIME = 1 / 12
"""Share of the time that goes into checkpoints at most: after a long one the next is farther away. `python -m
benchmarks recovery` measures what they cost."""
SECONDS_PER_ROW = 1e-8
"""Seconds that a row of a checkpoint takes, until a run has measured it."""
ENOUGH_TO_TELL = 1 << 17
"""Rows that a checkpoint has to write to tell how long one takes."""
MOST_READ_BY_ALL = 4 << 30
"""Bytes of a checkpoint that each worker reads through for its own rows, when it is of more or fewer workers: with much
more than that to read, to begin again is as fast."""

# Few values
MOST_DEALT = 1 << 16
"""Values that are dealt out at most: one worker sees all of them."""
GROUPS_PER_WORKER = 16
"""In which such values are dealt out. Every worker has a table of where each group is, of two bytes for each."""

# Threads of one process
MANY_ROWS = 1 << 20
"""Rows of a relation that several threads put in order: each needs to count all keys. The benchmark `cc` exercises
it."""
WORTH_A_THREAD = 1 << 14
"""Pairs of a join, or rows, that are worth a thread of their own."""
PLACES_PER_ROW = 4
"""Places of a range of keys for each row that is entered, up to which rows are entered by place."""
PLACES_PER_MORE = 64
"""The same where the store has its values by place already."""
FEWEST_AHEAD = 1 << 12
"""Rows of a batch that are worth a thread of their own: some calls of numpy go with each of them. The benchmark
`andersen` exercises it."""
MOST_AHEAD = 1 << 14
"""Rows of a batch that a thread takes at a time: what it derives from them waits until it is entered."""

# Workers of one process
SENT_AT_ONCE = 1 << 20
"""Rows that a worker hands to other threads at a time, as they are. The benchmark `andersen` exercises it."""
SHORT_ROUND = 0.0003
"""Seconds between two exchanges for which threads are not woken: workers go on one after the other. The benchmark
`sssp/road500` exercises it."""
SHORT_ROUNDS = 16
"""So many in a row have to be as short: a round may have one that only sends, and one that does the work."""

# Workers without rounds
SHIP_ROWS = 1 << 18
"""Rows for others that are shipped even while there is work to do here."""
SHIP_SECONDS = 0.25
"""Seconds after which what waits is shipped: others may have nothing to do."""
MAIL_SECONDS = 0.001
"""Seconds of local rounds between two looks for mail: many rounds take less."""
MOST_ARCS = 1 << 22
"""Arcs that one worker places by what they link, for all; more are placed by hash."""
MOST_REMEMBERED = 1 << 20
"""Rows that an outbox remembers as shipped; more are not worth their memory, and what is shipped twice does no harm."""

# Closures and bit matrices: docs/cyclic.md tells how a representation is chosen
MATRIX_MEMORY = 4 << 30
"""Bytes that a bit matrix may take on one worker, if nobody says otherwise."""
MOST_STEPS = 1 << 24
"""Steps that a factored recursion may make beyond four for each row of the relations they are made from."""
FEW_SOURCES = 64
"""Left values below which bringing neighbours together costs more than it saves."""
WORDS_OF_SOURCES = 8
"""Words of sources that are closed together at most: one line of the cache."""
BLOCK_MEMORY = 1 << 29
"""Bytes for the bits of sources that are closed together; with a larger domain they are fewer."""
SOURCES_PER_SAMPLE = 1024
"""Sources for which one block is closed as a sample: a block costs almost as much as several."""
MOST_SAMPLES = 3
"""Blocks that are closed as samples at most."""
SAMPLE_VISITS = 1 << 24
"""Steps after which a sample is given up."""
FEWEST_FOR_LANES = 8
"""Sources from which on they are closed together without a sample: that then costs at most about twice as much as one
by one, and may cost a small part."""
NS_PER_STEP = 2.3
"""Nanoseconds of a step when sources are closed one by one. This and the next three were measured on graphs from
trees to dense random ones; only their proportions matter. `tests/unit/workers/test_representation.py` pins choices."""
NS_PER_SOURCE = 30.0
"""Nanoseconds of a source when sources are closed one by one."""
NS_PER_VISIT = 6.0
"""Nanoseconds of a step when sources are closed together."""
NS_PER_NUMBER_AND_WORD = 4.0
"""Nanoseconds of a number of the domain and a word of sources when sources are closed together."""

# Connections and result files
BEATS_PER_STALL = 8
"""Heartbeats in a row that have to be missing before a worker counts as lost."""
SLOWEST_BEAT = 5.0
"""Seconds between two heartbeats at most, and for which the end of their thread is waited for."""
HANDSHAKE_SECONDS = 20.0
"""Seconds after which a stranger that says nothing is hung up on. `tests/unit/workers/test_strangers.py` tries."""
CONNECT_SECONDS = 5.0
"""Seconds after which a worker that is dialed and whose machine answers nothing cannot be reached: the system asks
again after one and three. `tests/unit/workers/test_rendezvous.py` sets less."""
WAIT_SECONDS = 120.0
"""Seconds to wait for workers that Spark has started already, but that may still be importing."""
SECOND_TASK_SECONDS = 5.0
"""Seconds for which Spark may still have a second task of a worker after the first has ended well."""
LAST_WORDS_SECONDS = 1.0
"""Seconds for which the driver reads the last reports of workers when an attempt is over."""
SILENT_SECONDS = 60
"""Seconds after which the system itself gives up a connection to a machine that answers nothing."""
MOST_HANDSHAKES = 256
"""Handshakes that a listener has at a time."""
BACKLOG = 128
"""Connections that wait in the system until a listener accepts them."""
MOST_QUEUED = 1 << 28
"""Bytes on their way out before a worker waits for others to read them."""
MOST_DIRECT = 32
"""Workers that are all connected with each other, wherever they are. More of them on several hosts are connected host
by host. `tests/unit/workers/test_routes.py` sets less."""
READ_AHEAD = 1 << 13
"""Bytes of a connection that are read at a time where fewer are wanted: most frames of late rounds are smaller."""
SMALL_PIECE = 1 << 10
"""Bytes of a frame below which they are copied to those before them. An encrypted connection sends each piece as a
record of its own."""
BUFFERS_PER_CALL = 64
"""Buffers that are handed to the system in one call; every system has a limit."""
MOST_ASKED = 64 << 20
"""Bytes of texts that a worker asked others for and keeps, because results have the same texts again and again."""
RANGE_SAMPLE = 1 << 16
"""Values of a lane that are looked at to tell whether it has runs, which a dictionary makes small."""
LONGEST_FILE = 1 << 25
"""Rows of a result file: several files can be read by several tasks."""
