"""Lists the entries of DL5xx, limits and faults while running, and of DL9xx, mistakes of Emberlog."""

from __future__ import annotations

from emberlog.catalogue.entry import Entry, FoundBy

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
        "to_number, int and float read numbers from text, and this text is not one; or a pattern that `matches` gets "
        "from data is not a regular expression.",
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
        "DL506",
        "an int that no float is equal to",
        "An int goes into a column of floats, and no float is equal to it: beyond 2⁵³ floats have gaps. Two ints could "
        "become one fact.",
        "Keep the column int, or write float(X), which takes the nearest float.",
        "num(9007199254740993).\nsize(0.5).\nsize(X) :- num(X).\n",
        FoundBy.RUN,
    ),
    Entry(
        "DL507",
        "a value outside the bounds of its type",
        "A rule or the data gives a column that is declared unsigned, int32 or unsigned32 a value that is none. "
        "Nothing wraps around.",
        "Keep such values out with a condition, or declare the column int.",
        "declare left(n: unsigned).\nstock(3). sold(5).\nleft(S - N) :- stock(S), sold(N).\n",
        FoundBy.RUN,
    ),
    Entry(
        "DL508",
        "an option that does not exist",
        "An engine, an executor, a mode or a number of workers is none that there is, or does not go with the engine; "
        "or a call has no option of that name.",
        "Use one of the names that the message lists, or do what it says instead.",
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
        "DL515",
        "a moment outside the calendar",
        "Moments lie in the years 1 to 9999, as in Spark and in Python.",
        "Keep out what is too far away: `N < 1000` before `T + N * 365 days`.",
        'far(date "9999-12-31" + 1 day).\n',
        FoundBy.RUN,
    ),
    Entry(
        "DL516",
        "text that is no moment",
        "`date`, `timestamp`, `parse_date` and `parse_time` read text of one form only, `format_time` and `truncate` "
        "know a few directives and units.",
        "Correct the data or the format, or keep out what does not fit, with `matches`.",
        'day(date(S)) :- text(S).\ntext("05/01/2026").\n',
        FoundBy.RUN,
    ),
    Entry(
        "DL517",
        "a date and a part of a day",
        "A date and a duration give a date, so the duration has to be of whole days.",
        "Make the date a timestamp before: `timestamp(D) + Wait`.",
        'wait(36 hours).\nuntil(date "2026-01-05" + W) :- wait(W).\n',
        FoundBy.RUN,
    ),
    Entry(
        "DL518",
        "a value of a declared type that is too large",
        "As text, a value has at most 32,768 characters. A recursion that wraps its own values gets there soon.",
        "Give the recursion a condition that stops it: a depth, or a length.",
        "type Tree = Leaf | Node(left: Tree, right: Tree).\ntree($Leaf).\ntree($Node(T, T)) :- tree(T).\n",
        FoundBy.RUN,
    ),
    Entry(
        "DL519",
        "a text that is no value of a declared type",
        "Data for a column of a declared type is text such as `$Leaf(1)`. This one is written otherwise.",
        "Correct the data, or the declaration of the type.",
        "`$Lef(1)` in a file for `declare tree(t: Tree).`",
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
    Entry(
        "DL530",
        "a part of Emberlog without its package",
        "`emberlog lsp` speaks with editors by pygls, and `emberlog studio` shows its page by NiceGUI. Not everybody "
        "needs them, so they are installed when they are asked for.",
        "Install what the hint names beside Emberlog: `pip install 'emberlog[lsp]'`, `pip install 'emberlog[studio]'`.",
        "An editor that starts `emberlog lsp` from an environment with Emberlog alone.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL531",
        "a link without a program",
        "A link to a program holds its text, compressed. This one was cut off, or holds more than the studio takes.",
        "Copy the whole link, up to its last letter.",
        "`http://127.0.0.1:8765/#program=eNp`",
        FoundBy.OTHER,
    ),
    Entry(
        "DL532",
        "a filter that cannot be read",
        "Columns of the studio's tables are filtered by a value, `>= 5`, `10..20`, `!= 3`, `null` or `!null`. The text "
        "is none of these, or the value is not of the type of the column.",
        "Write a value of the type that stands in the field.",
        "`>= many` in a column of ints",
        FoundBy.OTHER,
    ),
    Entry(
        "DL533",
        "something that the studio cannot do now",
        "The studio was asked for something that is not possible as things are: a question before a run, a port that "
        "is taken, saving a program that has no file. The message says what.",
        "The hint says what to do first.",
        "`emberlog studio --port 80`",
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
