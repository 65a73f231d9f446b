"""Lists the entries of DL2xx: the program can be read, but not given a meaning."""

from __future__ import annotations

from emberlog.catalogue.entry import Entry, FoundBy

SEMANTIC_ENTRIES = (
    Entry(
        "DL201",
        "a relation that does not exist",
        "The program asks for a relation that it neither defines nor declares, and whose name is close to another, or "
        "that a query asks for. A relation that only occurs in bodies is taken as an input.",
        "Correct the name. Upper and lower case letters are different.",
        "tc(X, Y) :- arc(X, Y).\nct(1, Y)?\n",
    ),
    Entry(
        "DL203",
        "a variable that is not bound",
        "Every variable of a head or a comparison needs a value before it can be used; so does one of a negated atom "
        "that stands elsewhere, too. It gets one from a positive atom of the body, or from an assignment `X = …` whose "
        "right side is bound. Otherwise the rule would hold for infinitely many values.",
        "Bind the variable with an atom, correct its spelling, or quote it if it is meant as text.",
        "trip(A, B, Total) :- leg(A, B, _).\n",
    ),
    Entry(
        "DL205",
        "a relation with two numbers of arguments",
        "Every use of a relation has the same number of arguments, because its facts have one number of columns.",
        "Add or remove arguments, with `_` for values that do not matter, or give one of the two another name.",
        "arc(1, 2).\nnode(X) :- arc(X).\n",
    ),
    Entry(
        "DL206",
        "a function that does not exist",
        "An expression calls a function that is not built in.",
        "Correct its name; docs/language.md lists the functions. A relation cannot be used inside an expression: "
        "join it.",
        "shout(Y) :- word(X), Y = uppercase(X).\n",
    ),
    Entry(
        "DL207",
        "a wrong number of arguments",
        "A function, a procedure or an aggregate takes a certain number of arguments; the message shows how it is "
        "written.",
        "Write it as shown.",
        "root(Y) :- area(X), Y = sqrt(X, 2).\n",
    ),
    Entry(
        "DL208",
        "an aggregate that does not exist",
        "The aggregates are count, countd, sum, sumd, avg, median, min, max, top, bottom, mmin, mmax, mcount, msum, "
        "argmin, argmax, collect, any and all.",
        "Correct its name.",
        "total(X, product<Y>) :- part(X, Y).\n",
    ),
    Entry(
        "DL209",
        "a value is needed, and `_` has none",
        "`_` stands for any value, a different one each time it is written, so nothing can be computed from it.",
        "Give the variable a name.",
        "next(Y) :- num(X), Y = X + _.\n",
    ),
    Entry(
        "DL210",
        "a declaration that says something twice",
        "A relation is declared once, and its columns have different names.",
        "Remove one declaration, or rename a column.",
        "declare arc(src: int, dst: int).\ndeclare arc(a: int, b: int).\n",
    ),
    Entry(
        "DL211",
        "a parameter without a value",
        "`$name` is a value that the caller gives when the program is run.",
        'Give it: `--param name=value` on the command line, `params={"name": value}` in Python.',
        "reach(Y) :- arc($source, Y).\n",
    ),
    Entry(
        "DL212",
        "a value for a parameter that does not exist",
        "The caller gives a value for a parameter that the program does not have. A silent typing mistake would run "
        "the program with another value than meant.",
        "Correct the name, or leave the value out.",
        "`emberlog check tc.dl --param sorce=1`, where tc.dl has the parameter `$source`.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL213",
        "a built-in name as a relation",
        "The name belongs to a built-in function or procedure, so that no rule or fact can define it.",
        "Choose another name.",
        "larger(X, Y, Z) :- num(X), num(Y), num(Z).\n",
    ),
    Entry(
        "DL214",
        "too many alternatives",
        "Each way through the disjunctions of a body becomes a rule of its own, and here these multiply to more than "
        "64 rules.",
        "Give a disjunction a relation of its own: two rules for it, and one atom in this body.",
        "p(X) :- q(X), (X = 1 ; X = 2 ; X = 3), (X > 1 ; X > 2 ; X > 3), (X < 1 ; X < 2 ; X < 3), "
        "(X != 1 ; X != 2 ; X != 3).\n",
    ),
    Entry(
        "DL217",
        "a stream that the program defines, too",
        "The tuples of a stream come from its source, each at its time, so the program can have no facts for it beside "
        "them. A relation that is no stream can have both.",
        "Give the facts another name, and join them with a rule: `ride(T, X) :- taxi(T, X).`",
        "The program has `STREAM taxi(Ts: timestamp, X: int).` and the fact `taxi(1, 2).`, and the caller sets "
        '`db["taxi"]`.',
        FoundBy.OTHER,
    ),
    Entry(
        "DL218",
        "a query that computes",
        "An argument of a query is a constant, a parameter or a variable.",
        "Write the value itself, or a rule that computes it.",
        "next(1, 2).\nnext(1 + 1, Y)?\n",
    ),
    Entry(
        "DL219",
        "a function that cannot be registered",
        "A function or an aggregate registered from Python has a name of letters, digits and underscores that is not "
        "built in, and at least one parameter.",
        "Choose another name, or give it a parameter.",
        "A function is registered under the name `min` or `my function`.",
        FoundBy.OTHER,
    ),
    Entry(
        "DL220",
        "a variable of two types",
        "All places of a variable in a rule have the same value, so their types have to agree. Ints and floats do: "
        "they join as numbers.",
        "Convert one of them in an assignment: `T = to_string(X)`.",
        'age("Ann", 41).\nname("Ann").\nodd(X) :- age(_, X), name(X).\n',
    ),
    Entry(
        "DL221",
        "a function or an operator for another type",
        "Arithmetic needs numbers, string functions need strings, `div` and `mod` need ints, `any` and `all` need true "
        "or false.",
        "Convert the operand: to_number(S), to_string(X), int(X), float(X). `cat(S, T)` joins strings.",
        'name("Ann").\nloud(Y) :- name(X), Y = X + "!".\n',
    ),
    Entry(
        "DL222",
        "a float in an int column",
        "The column is declared int, and the rule gives a float. `/` always gives a float.",
        "Use `div` for integer division, convert with round(X), floor(X) or int(X), or declare the column float.",
        "declare half(x: int).\nnum(4).\nhalf(Y) :- num(X), Y = X / 2.\n",
    ),
    Entry(
        "DL223",
        "a comparison between types",
        "Only values of the same type can be compared; an int and a float may be mixed. Lists have no order.",
        "Convert one side: to_string(X), to_number(S), int(X).",
        'age("Ann", 41).\nold(N) :- age(N, A), A > "40".\n',
    ),
    Entry(
        "DL224",
        "a value of another type than its column",
        "Every column of a relation has one type. It comes from the declaration, from the data, or from the rules and "
        "facts that fill it.",
        "Convert the value, or correct the declaration.",
        'declare age(name: string, years: int).\nage("Ann", "forty").\n',
    ),
    Entry(
        "DL225",
        "an int that no float is equal to",
        "A column of floats takes ints that a float is equal to: all of them up to 2⁵³, and some beyond.",
        "Declare the column int, or write the number as a float: it is rounded then.",
        "size(0.5).\nsize(9007199254740993).\n",
    ),
    Entry(
        "DL226",
        "a pattern that is no regular expression",
        "`matches` takes the regular expressions of RE2, which are matched in linear time. There are no references to "
        "groups, and one cannot look ahead or behind.",
        "Correct the pattern. `\\\\.` in a program is the pattern `\\.`, a dot.",
        'word("seven").\nshort(X) :- word(X), matches(X, "[a-z").\n',
    ),
    Entry(
        "DL230",
        "a relation that depends on its own negation",
        "A fact would hold because it does not hold. Negation is only legal on relations that are complete before the "
        "rule is applied: of a lower stratum.",
        "Break the cycle: often the negated relation should be an input, or one computed without this rule.",
        "win(X) :- move(X, Y), !win(Y).\n",
    ),
    Entry(
        "DL231",
        "an aggregate inside its own recursion",
        "While a recursion runs, facts come again and grow in number. An aggregate such as sum would count what it has "
        "counted before, so the result would depend on the order of evaluation.",
        "Use an aggregate that does not mind: min, max, any, all, argmin, argmax, or mcount and msum, which count each "
        "key once. Or add a stage argument that grows in every round, `price(X, I + 1, sum<P>)` with `I < 20`. Or "
        "bound the recursion with `@iterations(20)`.",
        "price(X, sum<P>) :- base(X, P).\nprice(X, sum<P>) :- price(Y, P), part(X, Y).\n",
    ),
    Entry(
        "DL232",
        "a recursion that is not monotone in its aggregated value",
        "With min, max and the like, values only improve while the recursion runs. A step that turns an improvement "
        "into something worse would leave behind facts that no longer hold. The test is made on the text of the rule "
        "and is careful: it may refuse a rule that is fine.",
        "Rewrite the step that the message shows. If you know that the aggregate may be applied early all the same, "
        "put `@premappable` before the rule: that is a promise, and nobody checks it.",
        "cost(X, min<C>) :- start(X, C).\ncost(Y, min<C>) :- cost(X, D), arc(X, Y), C = 100 - D.\n",
    ),
    Entry(
        "DL233",
        "stages without an end",
        "The recursion aggregates stage by stage, which is legal, but nothing stops the stage argument from growing.",
        "Bound it in the rule (`I < 20`), or ask for one stage in the query.",
        "rank(X, 0, sum<V>) :- node(X, V).\nrank(Y, I + 1, sum<V>) :- rank(X, I, V), arc(X, Y).\n",
    ),
    Entry(
        "DL234",
        "two bounds for one recursion",
        "The rules of a recursion run together, so one number of iterations holds for all of them.",
        "Keep one `@iterations`.",
        "@iterations(10)\nrank(X, sum<V>) :- node(X, V).\n@iterations(20)\nrank(Y, sum<V>) :- rank(X, V), arc(X, Y).\n",
    ),
    Entry(
        "DL235",
        "an annotation that cannot be used like this",
        "The bound of `@iterations` is a whole number above 0. `@premappable` belongs to a rule; only `@iterations` "
        "may stand for the whole program, with a full stop behind it.",
        "Correct the number, or leave out the full stop.",
        "@premappable.\ntc(X, Y) :- arc(X, Y).\n",
    ),
    Entry(
        "DL236",
        "two aggregates on one column",
        "All rules of a relation contribute to the same column, so one aggregate combines their values.",
        "Use the same aggregate in every rule, or two columns, or two relations.",
        "best(X, min<P>) :- offer(X, P).\nbest(X, max<P>) :- bid(X, P).\n",
    ),
    Entry(
        "DL237",
        "a plain value for an aggregate that needs more",
        "Where one rule aggregates a column, the values of the other rules are contributions too. Aggregates such as "
        "argmin and msum need two values for a contribution, and a plain value is only one.",
        "Write the aggregate in this rule as well.",
        "best(X, argmin<C, S>) :- offer(X, S, C).\nbest(X, S) :- chosen(X, S).\n",
    ),
    Entry(
        "DL238",
        "a subsumption or a choice inside of its own recursion",
        "What a relation leaves out is known when all of it is there, so its rules cannot read what is left. Where one "
        "column decides, and all others are the same, the subsumption is a minimum or a maximum, which may be read.",
        "Compare one column, or give the subsumption to a relation that reads this one.",
        "declare route(to: int, cost: int, risk: int).\nroute(0, 0, 0).\n"
        "route(Y, C + 1, R + 1) :- route(X, C, R), arc(X, Y).\n"
        "route(X, C1, R1) <= route(X, C2, R2) :- C2 <= C1, R2 <= R1.\n",
    ),
    Entry(
        "DL240",
        "a stream without a timestamp",
        "The first column of a STREAM is its timestamp: windows are made of it.",
        "Put the timestamp first, or declare it with RELATION if its facts have no time.",
        "STREAM ride(Pickup: string, Fare: float).\n",
    ),
    Entry(
        "DL241",
        "a window on something that is no stream",
        "A window holds the last minutes or hours of a stream. The queried relation is not derived from one.",
        "Declare the input with STREAM, its timestamp first, or leave the window out.",
        "tc(X, Y) :- arc(X, Y).\nquery tc(X, Y), WINDOW(60 minutes).\n",
    ),
    Entry(
        "DL242",
        "rules for a declared input",
        "STREAM and RELATION declare inputs, whose facts come from outside.",
        "Use `declare` for a relation that rules define.",
        "RELATION hub(City: string).\nhub(X) :- flight(X, _).\n",
    ),
    Entry(
        "DL243",
        "a relation that is called like a value",
        "`null`, `true` and `false` are values, in any case, so nothing else can be called so.",
        "Choose another name.",
        "declare True(x: int).\n",
    ),
    Entry(
        "DL244",
        "a comparison with null, or an atom with it",
        "Null agrees with nothing, not even with null: `Y = null`, `Y != null` and `p(X, null)` never hold, and "
        "`!p(X, null)` always does.",
        "Test for it: `is_null(Y)`, `!is_null(Y)`.",
        "unknown(X) :- age(X, Y), Y = null.\n",
    ),
    Entry(
        "DL245",
        "a range that cannot be listed",
        "`X in range(First, End)` gives X the ints from First up to, but not including, End, if no atom binds X. "
        "Between constants they are listed before the program runs, so these are ints, and there are a million values "
        "at most.",
        "Give ints as ends, or values that an atom gives, or bind X with an atom: then the range is a test.",
        "big(X) :- X in range(0, 5000000).\n",
    ),
    Entry(
        "DL246",
        "a window in a body",
        "A window belongs to a query over a stream: it says which tuples the whole program sees, and when it answers.",
        "Put it behind the query: `query p(X), WINDOW(60 minutes).` If there is an input of that name, declare it.",
        "p(X) :- s(X), WINDOW(60).\n",
    ),
    Entry(
        "DL247",
        "sessions by a column that a stream does not have",
        "`SESSION(10 minutes, User)` has sessions for each user, so each tuple has to say whose it is.",
        "Name a column that every stream of the program has, or leave it out: then all tuples have sessions in common.",
        "STREAM click(Ts: timestamp, Who: string).\nquery click(_, W), SESSION(10 minutes, User).\n",
    ),
    Entry(
        "DL260",
        "months and years as a length of time",
        "A duration has one length, and months and years have not. `3 days`, `2 weeks` and `90 seconds` are durations.",
        "Step by the calendar with `add_months(T, N)`, or say how many days are meant.",
        "late(X) :- bill(X, Due, Paid), Paid > Due + 2 months.\n",
    ),
    Entry(
        "DL261",
        "a text that is no date or timestamp",
        "Behind `date` and `timestamp` stands a text in the form of ISO 8601. A timestamp without a time zone is in "
        "UTC. The calendar has the years 1 to 9999, and no more than six digits follow a second.",
        'Write `date "2026-01-05"` or `timestamp "2026-01-05 10:30:00"`.',
        'holiday(date "2026-02-30").\n',
    ),
    Entry(
        "DL262",
        "an operator that does not take these lengths of time",
        "A duration can be added to a moment and subtracted from it, moments can be subtracted from each other, and "
        "durations can be multiplied and divided by ints. A plain number has no unit.",
        "Give the number a unit: `T + 3 days`, or `T + N * 1 day`.",
        'due(T + 3) :- sold(T), T > date "2026-01-05".\n',
    ),
    Entry(
        "DL263",
        "a date and hours",
        "A date and a duration give a date, so the duration has to be of whole days.",
        "Make the date a timestamp before: `timestamp(D) + 36 hours`.",
        'later(date "2026-01-05" + 36 hours).\n',
    ),
    Entry(
        "DL264",
        "a format or a unit that there is not",
        "`format_time`, `parse_time` and `parse_date` know a few directives, `truncate` a few units of the calendar.",
        "Take one of those that the message lists.",
        'weekly(truncate(T, "fortnight")) :- sold(T).\n',
    ),
    Entry(
        "DL265",
        "a value that no parameter can have",
        "A parameter is one constant: a number, a text, a truth value, a moment, a length of time, or null. Values of "
        "numpy and pandas are taken for those of Python.",
        "Convert it; several values are a relation, which the program joins.",
        '`db.datalog("p(X) :- q(X, $k).", params={"k": [1, 2]})`',
        FoundBy.OTHER,
    ),
    Entry(
        "DL266",
        "a decimal with too many digits, or with digits that are not known",
        "The digits behind the point are a part of the type of a decimal: those of a product are the digits of both "
        "factors, and 18 is the most. So `decimal(X, S)` and `round(D, S)` need a constant S.",
        "Round a factor before, `decimal(X, 4)`, or take floats, `float(X)`.",
        "declare rate(r: decimal(10)).\nsquare(R * R) :- rate(R).\n",
    ),
    Entry(
        "DL267",
        "a decimal that would lose digits",
        "A declared column has a scale, and the rule gives a decimal with more digits behind the point.",
        "Round it, `decimal(X, 2)`, or declare a larger scale.",
        "declare price(p: decimal(2)).\ndeclare net(p: decimal(2)).\nnet(P * 0.85) :- price(P).\n",
    ),
    Entry(
        "DL280",
        "a variable in the place of a relation",
        "A name that stands alone in a body is a relation without arguments. This one is a variable of the rule.",
        "Compare a truth value: `On = true`.",
        "p(X) :- light(X, On), On.\n",
    ),
    Entry(
        "DL281",
        "named arguments for columns without names",
        "Arguments can be given by the names of columns if these are known: from a declaration, from data, or from the "
        "heads of rules.",
        "Declare the relation.",
        "p(X) :- emp(X, _), emp(id: X).\n",
    ),
    Entry(
        "DL282",
        "a named argument that does not fit",
        "Each named argument is a column of the relation, and no column is named twice in one atom.",
        "Correct the name; the message lists the columns.",
        "declare emp(id: int, boss: int).\np(X) :- emp(id: X, bos: 1).\n",
    ),
    Entry(
        "DL283",
        "a head that leaves a column out",
        "In a body the columns that are not named may be anything. A head makes a fact, so each column needs its "
        "value.",
        "Give a value to every column, `null` if there is none.",
        "declare emp(id: int, boss: int).\nemp(id: 1).\n",
    ),
    Entry(
        "DL285",
        "a relation that cannot be what it is said to be",
        "A subsumption compares two facts of one relation, a choice is made for each value of some of its columns, and "
        "an equivalence has two columns of one type. None of them goes with another one or with an aggregate.",
        "Split the relation: let a second one read the first.",
        "declare same(a: int, b: int, c: int) equivalence.\nsame(1, 2, 3).\n",
    ),
    Entry(
        "DL290",
        "a variable that occurs only once",
        "A name that occurs once in a rule joins nothing. Often it is a misspelt variable, or text without quotes.",
        "Write `_` if the value does not matter.",
        "source(X) :- arc(X, Y).\n",
        is_warning=True,
    ),
    Entry(
        "DL291",
        "an input that looks like a misspelt relation",
        "The relation has no rules, facts or declaration, so it is taken as an input; but its name is close to "
        "that of another relation.",
        "Correct the name, or declare the input.",
        "reachable(X, Y) :- arc(X, Y).\nboth(X, Y) :- reachble(X, Y), reachable(Y, X).\n",
        is_warning=True,
    ),
    Entry(
        "DL292",
        "a value that only counts as one",
        "The column is aggregated with count or countd, so this value is one more thing to count, whatever it is. In "
        "the same way registered data adds to a sum or a count, which surprises if it is what an earlier run gave.",
        "Give the other rule's relation another name if the value was meant as a number to start from.",
        "deg(X, count<Y>) :- arc(X, Y).\ndeg(X, 0) :- node(X).\n",
        is_warning=True,
    ),
    Entry(
        "DL293",
        "a label that is used twice",
        "Plans, proofs and profiles name rules by their labels. Two rules have the same one, so the second gets a "
        "mark behind it.",
        "Give one of the rules another label.",
        "exit: tc(X, Y) :- arc(X, Y).\nexit: tc(X, Y) :- tc(X, Z), arc(Z, Y).\n",
        is_warning=True,
    ),
    Entry(
        "DL294",
        "a declared relation without facts",
        "The program declares a relation, has no facts or rules for it, and the caller gives none either. The "
        "declaration says that the name is right, so the relation is empty.",
        "Give its facts, if there are some.",
        'The program has `declare blocked(x: int).`, and nobody sets `db["blocked"]`.',
        FoundBy.OTHER,
        is_warning=True,
    ),
    Entry(
        "DL296",
        "data for a relation with rules",
        "The data that is registered for a relation counts together with what its rules give. That is fine if it is "
        "meant; but data that an earlier run gave stays, even if the rules no longer give it.",
        "Declare the relation, which says that it is meant; or give the data another name.",
        'The program has the rule `arc(X, Y) :- edge(X, Y).`, does not declare `arc`, and the caller sets `db["arc"]`.',
        FoundBy.OTHER,
        is_warning=True,
    ),
    Entry(
        "DL298",
        "a directive of Soufflé that changes nothing",
        "A program of Soufflé says to which file an output goes, or how large a relation may grow. Here options of the "
        "run say that, so the directive is passed over; the answers are complete.",
        "Take the option that the hint names, or leave the parameters out.",
        '.decl p(x: number)\np(1).\n.output p(filename="p.csv")\n',
        is_warning=True,
    ),
)
