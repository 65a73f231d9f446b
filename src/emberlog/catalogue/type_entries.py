"""Errors in the types that a program declares, and in their values."""

from __future__ import annotations

from emberlog.catalogue.entry import Entry

TYPE_ENTRIES = (
    Entry(
        "DL297",
        "two subtypes that have nothing to do with each other",
        "A variable is of two declared subtypes, of which neither is below the other. Their values are compared all "
        "the same; often two columns are confused.",
        "Correct the rule. If it is meant, declare both below one type, and columns of that.",
        "type city <: string.\ntype person <: string.\ndeclare lives(who: person, where: city).\n"
        'lives("a", "b").\nodd(X) :- lives(X, X).\n',
        is_warning=True,
    ),
    Entry(
        "DL270",
        "a declaration of a type that clashes",
        "Two types, two branches or two fields of a branch have the same name, or a type has that of a type of the "
        "language. A value says only of which branch it is, so branches of different types have different names, too.",
        "Choose other names.",
        "type Shape = Dot | Line(length: int).\ntype Letter = Dot | Dash.\n",
    ),
    Entry(
        "DL271",
        "a subtype without a base",
        "A subtype has a type of the language below it, such as int or string, perhaps through other subtypes. A type "
        "with branches has none.",
        "Name another base: `type city <: string`.",
        "type city <: place.\ntype place <: city.\n",
    ),
    Entry(
        "DL272",
        "a type without values",
        "Each value of the type would be made of another one, without end.",
        "Add a branch that needs none.",
        "type Chain = Link(next: Chain).\n",
    ),
    Entry(
        "DL273",
        "a branch that is not there",
        "`$Name(…)` is a value of a declared type, and no type has a branch of this name.",
        "Correct the name, or declare the type: `type Tree = Leaf | Node(left: Tree, right: Tree).`",
        "type Tree = Leaf | Node(left: Tree, right: Tree).\ntree($Lef()).\n",
    ),
    Entry(
        "DL274",
        "a value with too few or too many fields",
        "A value has a field for each that its branch declares, in this order.",
        "Write all of them; in a pattern, `_` stands for any.",
        "type Point = Point(x: int, y: int).\npoint($Point(1)).\n",
    ),
    Entry(
        "DL275",
        "a field of another type",
        "The branch declares a type for the field, and the value or the variable here has another one.",
        "Convert it, or declare the field otherwise.",
        'type Point = Point(x: int, y: int).\npoint($Point(1, "two")).\n',
    ),
    Entry(
        "DL276",
        "a number outside the bounds of its type",
        "The column is declared unsigned, int32 or unsigned32, or of a subtype of one, and the number is none.",
        "Correct the number, or declare the column int.",
        "declare level(n: unsigned).\nlevel(-1).\n",
    ),
)
