"""Lists the entries of DL1xx: the text cannot be read as a program."""

from __future__ import annotations

from emberlog.catalogue.entry import Entry, FoundBy

SYNTAX_ENTRIES = (
    Entry(
        "DL101",
        "a character without a meaning",
        "The text has a character that stands for nothing in the language, at least outside a string or a comment.",
        "Leave it out. If it belongs to a text, put the text in quotes.",
        'cost("tea", €3).\n',
    ),
    Entry(
        "DL102",
        "a string without an end",
        "A string begins with a quote and has to end with the same quote on the same line.",
        'Close the string. Inside it, write \\n for a line break and \\" for a quote.',
        'city("Berlin).\n',
    ),
    Entry(
        "DL103",
        "a comment without an end",
        "A comment that begins with `/*` goes on until `*/`. Without it, the rest of the program would be comment.",
        "Close the comment with `*/`, or begin the line with `//` instead.",
        "arc(1, 2).\n/* the rules follow\n",
    ),
    Entry(
        "DL104",
        "a name that begins with a digit",
        "Names of relations and variables begin with a letter or an underscore, so that they differ from numbers.",
        "Put a letter first. If it is text, such as a flight number, quote it.",
        "seat(12a).\n",
    ),
    Entry(
        "DL105",
        "a number that is too large",
        "Whole numbers are 64-bit: from -9,223,372,036,854,775,808 to 9,223,372,036,854,775,807. "
        "Numbers with a fraction have to fit into a 64-bit float.",
        "Write a float (`1e20`) if the exact value does not matter, or a string if it is a name rather than an amount.",
        "big(99999999999999999999).\n",
    ),
    Entry(
        "DL106",
        "an escape that is not known",
        "In a string a backslash begins an escape: \\n, \\t, \\r, \\0, \\\\, \\\", \\' or \\u and four hexadecimal "
        "digits. Characters beyond these have two halves, as in \\ud83d\\ude00; one of them alone is no character.",
        "Write two backslashes where one is meant.",
        'path("C:\\data").\n',
    ),
    Entry(
        "DL107",
        "a name in backquotes that cannot be read",
        "A name in backquotes ends on the line on which it begins. It may have any printable characters but slashes, "
        "and begins with neither a full stop nor a parenthesis, because answers are written into files of that name "
        "and Emberlog makes up names of its own.",
        "Close it with a backquote.",
        "p(X) :- `my-table(X).\n",
    ),
    Entry(
        "DL108",
        "a name in backquotes as a variable",
        "Backquotes are for the names of relations and columns, which come from data and can look like anything. "
        "Variables are names of your own.",
        "Use a plain name for the variable, or quotation marks for text.",
        "p(`the x`) :- q(`the x`).\n",
    ),
    Entry(
        "DL110",
        "something else was expected here",
        "At this place the grammar allows only certain words and symbols, and the text has another one. The message "
        "says what could stand here.",
        "Look a little before the place too: often a comma, a parenthesis or a full stop is missing there.",
        "tc(X, Y) :- arc(X, Y) arc(Y, X).\n",
    ),
    Entry(
        "DL111",
        "a statement without its end",
        "Facts, rules and declarations end with a full stop, so that the next one can begin.",
        "Put a full stop behind the statement.",
        "arc(1, 2)\n",
    ),
    Entry(
        "DL112",
        "nested too deeply",
        "An expression or a body nests so deeply that no person wrote it for others to read.",
        "Give parts of it names with `X = …`, or rules of their own.",
        "An expression with more than a hundred pairs of parentheses inside each other.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL113",
        "an aggregate in a wrong place",
        "Aggregates such as `min<D>` stand in the head of a rule, as an argument of their own: the other arguments of "
        "the head are the group. In a body an aggregate has a body of its own, in braces, and is one side of a "
        "comparison: `N = count : { arc(X, _) }`.",
        "Give the aggregate a body, `D > max E : { dist(_, E) }`, or write a rule with the aggregate in its head.",
        "far(X) :- dist(X, D), D > max<D>.\n",
    ),
    Entry(
        "DL114",
        "a function without arguments",
        "A function computes its value from its arguments, so it has at least one.",
        "Give it an argument; what the caller knows is a parameter, `$now`.",
        "late(X) :- due(X, T), T < now().\n",
    ),
    Entry(
        "DL115",
        "a type that is not known",
        "The types are int (integer, long, number), float (double), string (symbol), bool and timestamp.",
        "Use one of them.",
        "declare arc(src: int, dst: integr).\n",
    ),
    Entry(
        "DL116",
        "a window that cannot be read",
        "A window has a size and, if wanted, a slide, both larger than 0. Units are milliseconds, seconds, minutes, "
        "hours, days, weeks, months and years; where times are plain numbers, size and slide are plain numbers, too.",
        "Write it as in `WINDOW(60 minutes, 5 minutes)`.",
        "STREAM ride(Ts: timestamp, Fare: float).\nquery ride(_, F), WINDOW(60 parsecs).\n",
    ),
    Entry(
        "DL117",
        "an annotation that is not known",
        "Two annotations exist: `@iterations(20)` bounds a recursion, `@premappable` promises that an aggregate may be "
        "applied early.",
        "Correct its spelling or its arguments.",
        "@iteration(20)\nrank(X, sum<V>) :- rank(X, V).\n",
    ),
    Entry(
        "DL118",
        "a query with more than one atom",
        "A query asks for the facts of one relation.",
        "Write a rule for the conjunction and query its relation.",
        "query arc(X, Y), arc(Y, X).\n",
    ),
    Entry(
        "DL119",
        "a misplaced location mark",
        "`#` before an argument of a head says where its facts live, as in Datalography. A head has one at most, and a "
        "body has none.",
        "Leave the mark out where it does not belong.",
        "msg(#X, D) :- arc(#Y, X), D = 1.\n",
    ),
    Entry(
        "DL120",
        "arguments of which some have names",
        "The arguments of an atom stand in the order of the columns, or each has the name of its column. A mixture "
        "would leave open which column the ones without a name belong to.",
        "Name all of them, or none.",
        'declare emp(id: int, name: string).\np(X) :- emp(X, name: "ada").\n',
    ),
    Entry(
        "DL121",
        "a negation of something other than an atom",
        "Negation says that a fact does not exist, so it stands before an atom of a body, or before several parts in "
        "parentheses: `!(arc(Y, X), X < Y)`.",
        "Turn a comparison round: `X != Y`. A rule says what is true, so its head cannot be negated.",
        "upward(X, Y) :- arc(X, Y), not X = Y.\n",
    ),
    Entry(
        "DL122",
        "a form of another language",
        "Directives such as `.decl`, the words `and` and `or`, and arrows to the right belong to other languages.",
        "Write it as the message says.",
        "path(X, Y) :- arc(X, Y) and X != Y.\n",
    ),
    Entry(
        "DL123",
        "a part of Soufflé's language that is not there",
        "Emberlog runs programs of Soufflé, but not all of its language: lattices and functors with a state are "
        "missing, among others.",
        "The hint says what to write instead; docs/souffle.md lists what is there.",
        ".decl p(x: number)\np(autoinc()).\n",
    ),
    Entry(
        "DL124",
        "a declaration that does not fit",
        "In a program of Soufflé a relation is declared once, a type is made of types of one kind and not of itself, "
        "and a component exists, is no part of itself and gets the arguments that it takes; so do functors and ranges.",
        "Compare the declaration with the place that the error shows.",
        ".decl p(x: number)\n.decl p(x: symbol)\n",
    ),
    Entry(
        "DL126",
        "a file that cannot be included",
        "A program of Soufflé includes others by `.include`, and by `#include`, for which the C preprocessor has to be "
        "on the path. Files are looked for beside the one that includes them, and beside those that include that one.",
        "Correct the name of the file, or take the cycle apart.",
        '.include "nowhere.dl"\n.decl p(x: number)\np(1).\n',
    ),
)
