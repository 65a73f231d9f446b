"""Names: which relations there are, how many arguments each has, which of them the caller supplies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from emberlog.datatypes import TIMESTAMP
from emberlog.diagnostics import Diagnostics, Note, is_slip, nearest
from emberlog.language.registry import PROCEDURES
from emberlog.semantics.model import Column
from emberlog.semantics.normalize import Vocabulary
from emberlog.semantics.rewriting.bodies import body_atoms
from emberlog.source import NOWHERE, Span
from emberlog.syntax import ast
from emberlog.syntax.ast import DeclarationKind
from emberlog.syntax.elsewhere import ELSEWHERE


@dataclass(slots=True)
class Signature:
    """What is known of a relation before types: filled while names are resolved."""

    name: str
    arity: int
    span: Span
    """Where the arity comes from."""
    declaration: ast.Declaration | None = None
    given: Sequence[Column] | None = None
    """The columns of the data that the caller registered."""
    has_rules: bool = False
    has_facts: bool = False
    aggregates: dict[int, tuple[str, Span]] = field(default_factory=dict)
    """Column → its aggregate function and where it is written."""

    @property
    def is_derived(self) -> bool:
        return self.has_rules or self.has_facts


def resolve(
    program: ast.Program,
    vocabulary: Vocabulary,
    inputs: Mapping[str, Sequence[Column]],
    left_out: frozenset[str],
    diagnostics: Diagnostics,
) -> dict[str, Signature]:
    """Returns every relation of the program, in the order of first mention. Names in statements that are `left_out` for
    their errors are not unknown."""
    return _Resolver(program, vocabulary, inputs, left_out, diagnostics).run()


def defined_relations(program: ast.Program) -> frozenset[str]:
    """Returns the relations with rules, facts or a declaration."""
    names: set[str] = set()
    for statement in program.statements:
        match statement:
            case ast.Rule():
                names.update(head.predicate for head in statement.heads)
            case ast.Declaration(_, predicate):
                names.add(predicate)
    return frozenset(names)


class _Resolver:
    def __init__(
        self,
        program: ast.Program,
        vocabulary: Vocabulary,
        inputs: Mapping[str, Sequence[Column]],
        left_out: frozenset[str],
        diagnostics: Diagnostics,
    ) -> None:
        self.program = program
        self.vocabulary = vocabulary
        self.inputs = inputs
        self.left_out = left_out
        self.diagnostics = diagnostics
        self.signatures: dict[str, Signature] = {}

    def run(self) -> dict[str, Signature]:
        for statement in self.program.statements:
            if isinstance(statement, ast.Declaration):
                self._declaration(statement)
        for statement in self.program.statements:
            if isinstance(statement, ast.Rule):
                self._head(statement)
        self._given_inputs()
        for statement in self.program.statements:
            match statement:
                case ast.Rule(_, ast.Conjunction(parts)):
                    for atom in body_atoms(parts):
                        self._use(atom, "body")
                case ast.Query(atom):
                    self._use(atom, "query")
        for signature in self.signatures.values():
            self._input_only(signature)
        return self.signatures

    def _declaration(self, declaration: ast.Declaration) -> None:
        name = declaration.predicate
        columns = declaration.columns
        earlier = self.signatures.get(name)
        if earlier is not None:
            if earlier.declaration is not None and earlier.declaration.columns != columns:
                first = Note("it is declared here first", earlier.declaration.name_span)
                self.diagnostics.error("DL210", f"`{name}` is declared twice", declaration.name_span, first)
            return
        seen: set[str] = set()
        for column in columns:
            if column.name in seen:
                message = f"`{name}` has two columns named `{column.name}`"
                self.diagnostics.error("DL210", message, column.span)
            seen.add(column.name)
        if declaration.kind is DeclarationKind.STREAM and columns[0].type != TIMESTAMP:
            self.diagnostics.error(
                "DL240",
                f"the stream `{name}` has no timestamp",
                columns[0].span,
                "the first column of a STREAM is its timestamp: `Ts: timestamp`; a RELATION has none",
            )
        signature = Signature(name, len(columns), declaration.name_span, declaration)
        for index, column in enumerate(columns):
            if column.aggregate is not None and self._known_aggregate(column.aggregate, column.span):
                signature.aggregates[index] = (column.aggregate, column.span)
        self.signatures[name] = signature

    def _known_aggregate(self, function: str, span: Span) -> bool:
        known = self.vocabulary.functions.aggregates
        if function in known:
            return True
        guess = nearest(function.lower(), known)
        names = f"aggregates are {', '.join(known)}"
        hint = f"did you mean `{guess}`? {names}" if guess else names
        self.diagnostics.error("DL208", f"there is no aggregate `{function}`", span, hint)
        return False

    def _head(self, rule: ast.Rule) -> None:
        head = rule.head
        signature = self.signatures.get(head.predicate)
        is_declared = signature is not None and signature.declaration is not None
        if not is_declared and (head.predicate in PROCEDURES or self.vocabulary.is_test(head.predicate)):
            hint = f"choose another name, or declare it: `declare {head.predicate}(…).` is a relation of yours then"
            self.diagnostics.error(
                "DL213", f"`{head.predicate}` is built in and cannot be defined", head.name_span, hint
            )
        if signature is None:
            signature = Signature(head.predicate, len(head.terms), head.span)
            self.signatures[head.predicate] = signature
        elif not self._same_arity(signature, len(head.terms), head.span):
            return
        if rule.body is None:
            signature.has_facts = True
        else:
            signature.has_rules = True
        for index, term in enumerate(head.terms):
            if isinstance(term, ast.AggregateTerm):
                self._aggregate(signature, index, term)

    def _aggregate(self, signature: Signature, index: int, term: ast.AggregateTerm) -> None:
        if not self._known_aggregate(term.function, term.span):
            return
        function = self.vocabulary.functions.aggregates[term.function]
        if len(term.arguments) not in function.arities:
            self.diagnostics.error(
                "DL207",
                f"`{term.function}` is not used like this",
                term.span,
                f"{function.signature}: {function.meaning}",
            )
            return
        earlier = signature.aggregates.setdefault(index, (term.function, term.span))
        if earlier[0] != term.function:
            self.diagnostics.error(
                "DL236",
                f"column {index + 1} of `{signature.name}` has two aggregates, `{earlier[0]}` and `{term.function}`",
                term.span,
                Note(f"`{earlier[0]}` is here", earlier[1]),
                "give each a column or a relation of its own",
            )

    def _same_arity(self, signature: Signature, arity: int, span: Span) -> bool:
        if signature.arity == arity:
            return True
        have = f"{signature.arity} argument{'' if signature.arity == 1 else 's'}"
        self.diagnostics.error(
            "DL205",
            f"`{signature.name}` has {have}, not {arity}",
            span,
            Note("see here", signature.span)
            if signature.given is None
            else "so has the data that is registered for it",
        )
        return False

    def _given_inputs(self) -> None:
        for name, columns in self.inputs.items():
            signature = self.signatures.get(name)
            if signature is None:
                self.signatures[name] = Signature(name, len(columns), NOWHERE, given=columns)
            else:
                if signature.arity != len(columns):
                    self.diagnostics.error(
                        "DL402",
                        f"`{name}` is declared with {signature.arity} columns; the data has {len(columns)}",
                        signature.span,
                    )
                signature.given = columns

    def _use(self, atom: ast.Atom, where: str) -> None:
        name = atom.predicate
        if self.vocabulary.is_builtin(name) and where == "body":
            return
        signature = self.signatures.get(name)
        if signature is not None:
            self._same_arity(signature, len(atom.terms), atom.span)
            return
        if name in self.left_out:
            if where == "body":
                self.signatures[name] = Signature(name, len(atom.terms), atom.span)
            return
        if where == "body" and self._looks_like_a_call(atom):
            self.diagnostics.error(
                "DL201",
                f"`{name}` is a function, and stands here like a relation",
                atom.span,
                f"compare its value: `{atom.span.text} = V`",
                f"if there is an input of this name, declare it: `declare {name}(…).`",
            )
            return
        defined = [known for known in self.signatures if known != name]
        guess = nearest(name, defined)
        if where == "query":
            hints = [f"did you mean `{guess}`?"] if guess else ["a query asks for a relation of the program"]
            self.diagnostics.error("DL201", f"there is no relation `{name}`", atom.name_span, *hints)
            return
        if guess is not None and guess.lower() == name.lower():
            self.diagnostics.error(
                "DL201",
                f"there is no relation `{name}`",
                atom.name_span,
                f"did you mean `{guess}`? names are the same only if their letters have the same case",
            )
            return
        self.signatures[name] = Signature(name, len(atom.terms), atom.span)
        if name.lower() == "window":
            self.diagnostics.error(
                "DL246",
                "a window cannot stand in a body",
                atom.name_span,
                "it stands behind a query: `query p(X), WINDOW(60 minutes, 5 minutes).`",
                f"if `{name}` is an input, declare it",
            )
            return
        guess = nearest(name, defined, sure=True)
        if guess is None or not self.signatures[guess].is_derived:
            guess = next((known for known in defined if is_slip(name, known)), None)
        here = ELSEWHERE.get(name.lower(), "")
        is_test = self.vocabulary.is_test(here.lstrip("!").partition("(")[0])
        if guess is not None or is_test:
            meant = f"the test is written `{here}` here;" if is_test else f"did you mean `{guess}`?"
            self.diagnostics.warning(
                "DL291",
                f"`{name}` has no rules, facts or declaration, so it is taken as an input",
                atom.name_span,
                f"{meant} if it is an input, declare it: `declare {name}(…).`",
            )

    def _looks_like_a_call(self, atom: ast.Atom) -> bool:
        """Tells whether it has the name and the arguments of a function: `len(S)`, but not `log(_, X)`."""
        function = self.vocabulary.functions.scalars.get(atom.predicate)
        if function is None or any(isinstance(term, ast.Wildcard) for term in atom.terms):
            return False
        return function.accepts(len(atom.terms))

    def _input_only(self, signature: Signature) -> None:
        declaration = signature.declaration
        if declaration is None or not signature.has_rules:
            return
        if declaration.kind is not DeclarationKind.RELATION:
            self.diagnostics.error(
                "DL242",
                f"`{signature.name}` is declared as an input with {declaration.kind.value}, and has rules",
                declaration.name_span,
                f"use `declare {signature.name}(…).` for a relation that rules define",
            )
