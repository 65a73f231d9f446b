"""From a syntax tree to a checked program: every stage of the semantic analysis, in order, all errors together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace

from emberlog.deadline import check_time
from emberlog.diagnostics import Diagnostic, Diagnostics
from emberlog.language.aggregates import Aggregate
from emberlog.language.registry import BUILT_IN, Functions
from emberlog.semantics.dependencies import rules_by_relation
from emberlog.semantics.infer_types import CHECKING, TypeTable, infer_types
from emberlog.semantics.model import (
    Absent,
    CheckedProgram,
    Column,
    Contribution,
    CoreRule,
    Fact,
    HeadValue,
    Literal,
    Match,
    Relation,
)
from emberlog.semantics.normalize import Draft, Vocabulary, normalize
from emberlog.semantics.queries import check_queries
from emberlog.semantics.resolve import Signature, defined_relations, resolve
from emberlog.semantics.rewriting.column_names import distinct_names, names_from_heads
from emberlog.semantics.rewriting.input_data import data_of, with_data_beside_rules
from emberlog.semantics.rewriting.plain_rules import plain_rules
from emberlog.semantics.rewriting.relation_kinds import plain_kinds
from emberlog.semantics.safety import order_body
from emberlog.semantics.stratify import stratify
from emberlog.semantics.timestamps import assign_time_roles
from emberlog.semantics.typecheck import check_types
from emberlog.semantics.widening import unify_contributions
from emberlog.source import NOWHERE, Span
from emberlog.syntax import ast
from emberlog.syntax.ast import Constant, DeclarationKind
from emberlog.syntax.declared_types import with_declared_types

FACT = "fact"
"""What rules without a body are called."""


def analyze(
    program: ast.Program,
    *,
    params: Mapping[str, ast.Given] | None = None,
    inputs: Mapping[str, Sequence[Column]] | None = None,
    iterations: int | None = None,
    functions: Functions = BUILT_IN,
) -> CheckedProgram:
    """Returns the checked program; raises EmberlogError with every error and warning.

    `params` are the values of `$name` parameters; None leaves them open, to check a program before they are known.
    `inputs` are the columns of the data that is registered. `iterations` bounds recursions that need a bound.
    `functions` may have more than the built-in ones.
    """
    diagnostics = Diagnostics()
    checked = _Analysis(program, params, inputs, iterations, functions, diagnostics).run()
    diagnostics.raise_errors()
    assert checked is not None
    return checked


@dataclass(frozen=True, slots=True)
class Examination:
    """What can be said of a program, errors or not."""

    relations: Mapping[str, Relation]
    """Those of the statements that could be read, with their types as far as these are known."""
    rules: tuple[CoreRule, ...]
    """The rules that have a meaning."""
    diagnostics: tuple[Diagnostic, ...]
    checked: CheckedProgram | None
    """None if there are errors."""


def examine(
    program: ast.Program, *, inputs: Mapping[str, Sequence[Column]] | None = None, functions: Functions = BUILT_IN
) -> Examination:
    """Returns what is known of a program while it is written: errors of one rule hide nothing of the others. Parameters
    are left open; `inputs` are the columns of the data that is registered."""
    diagnostics = Diagnostics()
    analysis = _Analysis(program, None, inputs, None, functions, diagnostics)
    checked = analysis.run()
    return Examination(analysis.relations, tuple(analysis.rules), diagnostics.in_order(), checked)


class _Analysis:
    def __init__(
        self,
        program: ast.Program,
        params: Mapping[str, ast.Given] | None,
        inputs: Mapping[str, Sequence[Column]] | None,
        iterations: int | None,
        functions: Functions,
        diagnostics: Diagnostics,
    ) -> None:
        self.written = program
        diagnostics.include(program.problems)
        program, declared = with_declared_types(program, diagnostics)
        self.vocabulary = Vocabulary(defined_relations(program), params, functions, declared.branches)
        plain = self.plain = plain_rules(program, inputs or {}, self.vocabulary.is_builtin, diagnostics)
        program, inputs, data_names = with_data_beside_rules(plain.program, inputs or {}, diagnostics)
        kinds = plain_kinds(program, inputs, data_names, diagnostics)
        self.program, self.inputs, self.data_names = kinds.program, kinds.inputs, kinds.data_names
        self.made_up = plain.made_up | kinds.made_up
        self.params = params
        self.iterations = iterations
        self.diagnostics = diagnostics
        self.functions = functions
        self.signatures: dict[str, Signature] = {}
        self.rules: list[CoreRule] = []
        self.relations: dict[str, Relation] = {}

    def run(self) -> CheckedProgram | None:
        self._check_parameters()
        self.iterations = self._program_iterations()
        self.signatures = resolve(self.program, self.vocabulary, self.inputs, self.plain.left_out, self.diagnostics)
        rules = [rule for draft in self._drafts() if (rule := self._core_rule(draft)) is not None]
        table, types = infer_types(rules, self.signatures, self.functions)
        typed = zip(rules, types, strict=True)
        rules = [check_types(rule, own, table, self.functions, self.diagnostics) for rule, own in typed]
        rules = unify_contributions(rules, self.functions, self.diagnostics)
        asked = [statement for statement in self.program.statements if isinstance(statement, ast.Query)]
        relations = assign_time_roles(self._relations(table, rules), rules, asked)
        self.rules, self.relations = rules, relations
        queries = check_queries(self.program, relations, self.params, self.vocabulary, self.diagnostics)
        facts, rules = _split_facts(rules)
        facts |= {name: values for name, (_, values) in self.vocabulary.generated.items()}
        if self.plain.left_out:
            return None  # what is missing could make a recursion legal, or derive it from a stream
        strata = stratify(relations, rules, queries, self.iterations, self.diagnostics)
        if self.diagnostics.has_errors:
            return None
        return CheckedProgram(
            self.written, relations, facts, tuple(rules), strata, queries, self.diagnostics.in_order(), self.functions
        )

    def _check_parameters(self) -> None:
        if self.plain.left_out or not self.params:
            return
        used = {name for statement in self.program.statements for name in parameters_of(statement)}
        for name in sorted(set(self.params) - used):
            self.diagnostics.error("DL212", f"the program has no parameter `${name}`", None, "leave its value out")

    def _program_iterations(self) -> int | None:
        bound = self.iterations
        for statement in self.program.statements:
            if isinstance(statement, ast.ProgramOption):
                if statement.annotation.name != "iterations":
                    message = f"@{statement.annotation.name} belongs to a rule, not to the program"
                    self.diagnostics.error("DL235", message, statement.span, "leave out the full stop behind it")
                elif bound is None:  # what the caller says goes first
                    bound = self._bound(statement.annotation)
        return bound

    def _bound(self, annotation: ast.Annotation) -> int:
        (argument,) = annotation.arguments
        if isinstance(argument, ast.Parameter) and self.params and argument.name in self.params:
            argument = ast.given_constant(self.params[argument.name], argument.span)
        match argument:
            case Constant(int() as bound) if not isinstance(bound, bool) and bound > 0:
                return bound
            case ast.Parameter() if self.params is None:
                return 1  # not known yet: any bound makes the program legal
            case _:
                self.diagnostics.error(
                    "DL235",
                    "the bound of @iterations is a whole number above 0",
                    argument.span,
                    "write @iterations(20)",
                )
                return 1  # so that the recursion is not refused for the lack of a bound, too

    def _drafts(self) -> list[Draft]:
        drafts: list[Draft] = []
        number = 0
        written = {rule.label for rule in self.program.statements if isinstance(rule, ast.Rule)}
        names: set[str] = set()
        for statement in self.program.statements:
            check_time(CHECKING)
            if not isinstance(statement, ast.Rule):
                continue
            if statement.body is not None:
                number += 1
            name = statement.label or (f"r{number}" if statement.body is not None else FACT)
            if statement.label is None and name in written:
                name += "'"  # the person calls another rule so
            wanted = name
            while statement.body is not None and name in names:
                name += "'"
            if name != wanted:
                self.diagnostics.warning(
                    "DL293", f"the label `{wanted}` is used twice", statement.span, f"this rule is called `{name}` here"
                )
            names.add(name)
            drafts += normalize(statement, name, self.vocabulary, self.diagnostics)
        for listed, (type_, _) in self.vocabulary.generated.items():
            given = (Column("value", type_),)
            self.signatures[listed] = Signature(listed, 1, NOWHERE, given=given, has_facts=True)
        return drafts

    def _core_rule(self, draft: Draft) -> CoreRule | None:
        check_time(CHECKING)
        body = order_body(draft, self.diagnostics)
        signature = self.signatures.get(draft.statement.head.predicate)
        if body is None or signature is None or signature.arity != len(draft.head):
            return None
        if not all(self._is_resolved(literal) for literal in body):
            return None
        head = self._head(draft, signature)
        if head is None:
            return None
        iterations, premappable = None, False
        for annotation in draft.statement.annotations:
            if annotation.name == "iterations":
                iterations = self._bound(annotation)
            else:
                premappable = True
        return CoreRule(
            draft.name,
            signature.name,
            head,
            body,
            location=draft.statement.head.location,
            iterations=iterations,
            premappable=premappable,
            statement=draft.statement,
        )

    def _is_resolved(self, literal: Literal) -> bool:
        if not isinstance(literal, Match | Absent):
            return True
        signature = self.signatures.get(literal.relation)
        return signature is not None and signature.arity == len(literal.terms)

    def _head(self, draft: Draft, signature: Signature) -> tuple[HeadValue, ...] | None:
        values: list[HeadValue] = []
        for index, term in enumerate(draft.head):
            aggregate = signature.aggregates.get(index)
            if isinstance(term, ast.AggregateTerm):
                if aggregate is None or aggregate[0] != term.function:
                    return None  # reported already
                values.append(Contribution(term.function, term.arguments))
            elif aggregate is None:
                values.append(term)
            elif 1 not in (function := self.functions.aggregates[aggregate[0]]).arities or function.by_key:
                self.diagnostics.error(
                    "DL237",
                    f"a plain value cannot contribute to `{function.name}`",
                    term.span,
                    f"write the aggregate here too: {function.signature}",
                )
                return None
            else:
                if draft.name == data_of(signature.name):
                    self._warn_of_data_that_adds_up(signature.name, function, term.span)
                elif aggregate[0] in ("count", "countd"):
                    self.diagnostics.warning(
                        "DL292",
                        f"this value is one contribution to `{aggregate[0]}`: it counts as 1, whatever it is",
                        term.span,
                    )
                values.append(Contribution(aggregate[0], (term,)))
        return tuple(values)

    def _warn_of_data_that_adds_up(self, name: str, function: Aggregate, place: Span) -> None:
        if not function.is_meet:
            self.diagnostics.warning(
                "DL292",
                f"the data that is registered for `{name}` adds contributions to `{function.name}`",
                place,
                f'if it is what an earlier run gave, take it away: del db["{name}"]',
            )

    def _relations(self, table: TypeTable, rules: Sequence[CoreRule]) -> dict[str, Relation]:
        relations = {}
        rules_of = rules_by_relation(rules)
        for name, signature in self.signatures.items():
            names = self._column_names(signature, rules_of.get(signature.name, ()))
            columns = []
            for index in range(signature.arity):
                aggregate = signature.aggregates.get(index)
                columns.append(Column(names[index], table.type_of(name, index), aggregate[0] if aggregate else None))
            declaration = signature.declaration
            relations[name] = Relation(
                name,
                tuple(columns),
                is_derived=signature.is_derived,
                is_stream=declaration is not None and declaration.kind is DeclarationKind.STREAM,
                is_declared=declaration is not None,
                data_name=self.data_names.get(name, name),
                is_written=name not in self.made_up,
                span=signature.span,
            )
        return relations

    def _column_names(self, signature: Signature, rules: Sequence[CoreRule]) -> list[str]:
        """Returns declared or registered names; else what the heads of its rules say; else c1, c2, …"""
        if signature.declaration is not None:
            return [column.name for column in signature.declaration.columns]
        if signature.name in self.plain.columns:
            return list(self.plain.columns[signature.name])
        if signature.given is not None and len(signature.given) == signature.arity:
            return [column.name for column in signature.given]
        own = [rule for rule in rules if rule.name != data_of(signature.name)]
        # Rules say more than facts about what the columns are.
        own.sort(key=lambda rule: not rule.body)
        names = names_from_heads((rule.statement.head for rule in own if rule.statement), signature.arity)
        data = self.inputs.get(data_of(signature.name), ())
        if len(data) == signature.arity:
            names = [name or column.name for name, column in zip(names, data, strict=True)]
        return distinct_names(names)


def _split_facts(rules: Sequence[CoreRule]) -> tuple[dict[str, tuple[Fact, ...]], list[CoreRule]]:
    """Facts of plain constants apart from the rules; a fact with arithmetic or a list stays a rule without a body."""
    facts: dict[str, dict[tuple[tuple[type, object], ...], Fact]] = {}
    others: list[CoreRule] = []
    computed = 0
    for rule in rules:
        fact = _constants(rule) if not rule.body else None
        if fact is None and rule.name == FACT:
            computed += 1
            others.append(replace(rule, name=FACT if computed == 1 else f"{FACT} {computed}"))
        elif fact is None:
            others.append(rule)
        else:
            # 1 and true are equal in Python, and different facts here.
            key = tuple((type(value), value) for value in fact)
            facts.setdefault(rule.relation, {}).setdefault(key, fact)
    return {name: tuple(distinct.values()) for name, distinct in facts.items()}, others


def _constants(rule: CoreRule) -> Fact | None:
    values = []
    for value in rule.head:
        if isinstance(value, Contribution) and len(value.arguments) == 1:
            value = value.arguments[0]
        if not isinstance(value, Constant):
            return None
        values.append(value.value)
    return tuple(values)


def parameters_of(statement: ast.Statement) -> set[str]:
    """Returns the names of the parameters in a statement."""
    check_time(CHECKING)
    return {node.name for node in _nodes(statement) if isinstance(node, ast.Parameter)}


def _nodes(node: object) -> Iterator[object]:
    yield node
    if isinstance(node, tuple) and not isinstance(node, Span):
        for item in node:
            yield from _nodes(item)
    elif is_dataclass(node) and not isinstance(node, type):
        for field in fields(node):
            if field.name not in ("span", "name_span"):
                yield from _nodes(getattr(node, field.name))
