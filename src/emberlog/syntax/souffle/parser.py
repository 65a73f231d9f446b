"""From tokens to the items of a program in Soufflé's language, by recursive descent.

An aggregate inside of an expression becomes a part of the body that gives a new variable its value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from emberlog.diagnostics import Diagnostics, nearest
from emberlog.source import Span
from emberlog.syntax import ast
from emberlog.syntax.ast import BinaryOperator, ComparisonOperator, Expression
from emberlog.syntax.lexer import Token, TokenKind
from emberlog.syntax.souffle.tree import (
    Attribute,
    Branch,
    Clause,
    Component,
    Directive,
    Functor,
    Initialisation,
    Instance,
    Item,
    Named,
    Override,
    RelationDeclaration,
    TypeDeclaration,
    TypeKind,
)
from emberlog.syntax.token_reader import SyntaxProblem, TokenReader
from emberlog.syntax.vocabulary import LITERALS

T = TypeVar("T")

COMPARISONS = {operator.value: operator for operator in ComparisonOperator}
AGGREGATES = {"count": "count", "sum": "sum", "min": "min", "max": "max", "mean": "avg"}
TESTS = {"match": "matches", "contains": "contains"}
"""Constraints whose second argument is the text that they look at."""

RECORD, NIL = "[", "nil"
"""What `[a, b]` and `nil` are calls of, until it is known of which type they are."""

_LEVELS: tuple[dict[str, str], ...] = (
    {"lor": "lor"},
    {"lxor": "lxor"},
    {"land": "land"},
    {"bor": "bor"},
    {"bxor": "bxor"},
    {"band": "band"},
    {"bshl": "shl", "bshr": "shr", "bshru": "bshru"},
)
"""Operators that are words, the ones that bind loosest first, and the functions that they are."""

_OPERATORS = ("not", "in", "between", "like", "div", "mod")
"""Words that mean something between the values of our language, and are names in Soufflé's."""

_DIRECTIVES = (
    *("decl", "type", "functor", "input", "output", "printsize", "limitsize"),
    *("comp", "init", "override", "include", "once", "pragma", "plan"),
)

_MISSING = {
    "plan": "leave it out: joins are ordered by statistics",
    "lattice": "lattices are not there: min and max in a recursion are aggregates of a head",
}


class SouffleParser(TokenReader):
    def __init__(self, tokens: list[Token], diagnostics: Diagnostics) -> None:
        super().__init__(tokens, diagnostics)
        self.taken = {token.text for token in tokens if token.kind is TokenKind.NAME}
        """All names of the text: new variables have others."""
        self.hoisted: list[ast.BodyPart] = []
        """What the expressions read so far ask of the body around them."""
        self.functors: dict[str, Functor] = {}

    def program(self) -> tuple[Item, ...]:
        return tuple(self._items(lambda: self.peek().kind is TokenKind.END))

    def _items(self, at_end: Callable[[], bool]) -> list[Item]:
        items: list[Item] = []
        while not at_end() and self.peek().kind is not TokenKind.END:
            begun = self.index
            self.begun = self.peek().span.start
            try:
                items += self._item()
            except SyntaxProblem:
                self._skip(begun)
        return items

    def _skip(self, begun: int) -> None:
        """Goes to what begins the next item, as far as one can tell."""
        self.depth, self.hoisted = 0, []
        while self.peek().kind is not TokenKind.END:
            is_directive = self.peek().is_symbol(".") and self.peek(1).kind is TokenKind.NAME
            begins_line = self.peek().span.begin.line > self.previous().span.finish.line
            if self.index > begun and begins_line and (is_directive or self.peek().kind is TokenKind.NAME):
                return
            self.take()

    def _item(self) -> list[Item]:
        if not self.peek().is_symbol("."):
            return [self._clause()]
        start = self.take()
        word = self.expect_name("a directive such as `.decl`")
        match word.text:
            case "decl":
                return list(self._relations(start.span))
            case "type":
                return [self._type()]
            case "number_type" | "symbol_type":
                base = Named(word.text.removesuffix("_type"), word.span)
                return [TypeDeclaration(self._named(), TypeKind.SUBTYPE, (base,))]
            case "input" | "output" | "printsize" | "limitsize":
                return list(self._directives(Named(word.text, word.span)))
            case "comp":
                return [self._component()]
            case "init":
                name = self._named()
                self.expect("=")
                return [Initialisation(name, self._instance())]
            case "override":
                return [Override(self._named())]
            case "pragma":  # which says how Soufflé compiles
                while self.peek().kind is TokenKind.STRING:
                    self.take()
                return []
            case "functor":
                functor = self._functor()
                self.functors[functor.name.name] = functor
                return []
            case _:
                span = start.span.to(word.span)
                if word.text not in _MISSING:
                    guess = nearest(word.text, _DIRECTIVES)
                    known = f"known are {', '.join(f'.{one}' for one in _DIRECTIVES)}"
                    hint = f"did you mean `.{guess}`?" if guess else known
                    raise self.problem("DL123", f"there is no directive `.{word.text}`", span, hint)
                raise self._refused(f"`.{word.text}`", span, _MISSING[word.text])

    def _refused(self, what: str, span: Span, hint: str) -> SyntaxProblem:
        return self.problem("DL123", f"{what} of Soufflé is not there in Emberlog", span, hint)

    # --- declarations -----------------------------------------------------------------------------------------------

    def _named(self) -> Named:
        """Reads a name, with those of components before it: `graph.edge`."""
        first = self.expect_name("a name")
        name, span = first.text, first.span
        while self._is_joined(0):
            self.take()
            part = self.take()
            name, span = f"{name}.{part.text}", span.to(part.span)
        return Named(name, span)

    def _is_joined(self, ahead: int) -> bool:
        """At a point between two names, without blanks: no clause ends there."""
        before, point, name = self.tokens[self.index + ahead - 1], self.peek(ahead), self.peek(ahead + 1)
        touch = before.span.end == point.span.start and point.span.end == name.span.start
        return point.is_symbol(".") and name.kind is TokenKind.NAME and touch

    def _relations(self, start: Span) -> list[RelationDeclaration]:
        names = self.separated(self._named)
        self.expect("(")
        attributes: list[Attribute] = [] if self.peek().is_symbol(")") else self.separated(self._attribute)
        end = self.expect(")")
        qualifiers: list[Named] = []
        choices: list[tuple[str, ...]] = []
        while self.peek().kind is TokenKind.NAME and not (self.peek(1).is_symbol("(") or self._is_joined(1)):
            word = self.take()
            if word.text == "choice" and self.peek().is_symbol("-"):  # `choice-domain` is three tokens
                self.take()
                self.expect_name("`choice-domain` and columns")
                choices += self.separated(self._choice)
            else:
                qualifiers.append(Named(word.text, word.span))
        span = start.to(end.span)
        columns, words, chosen = tuple(attributes), tuple(qualifiers), tuple(choices)
        return [RelationDeclaration(name, columns, words, span, chosen) for name in names]

    def _choice(self) -> tuple[str, ...]:
        """Reads a column of a choice domain, or several in parentheses."""
        if not self.peek().is_symbol("("):
            return (self.expect_name("a column").text,)
        self.take()
        names = self.separated(lambda: self.expect_name("a column").text)
        self.expect(")")
        return tuple(names)

    def _functor(self) -> Functor:
        """Reads `f(x: number, symbol): number stateful`; names of arguments may be left out."""
        name = self._named()
        self.expect("(")
        arguments = () if self.peek().is_symbol(")") else tuple(self.separated(self._functor_argument))
        self.expect(")")
        self.expect(":")
        result = self._named()
        if self.peek().is_word("stateful"):
            hint = "a registered function gets values, and keeps no state that answers depend on"
            raise self._refused("a functor with a state", self.peek().span, hint)
        return Functor(name, arguments, result)

    def _functor_argument(self) -> Named:
        if self.peek(1).is_symbol(":"):
            self.take()
            self.take()
        return self._named()

    def _attribute(self) -> Attribute:
        name = self.expect_name("a column, such as `x: number`")
        self.expect(":")
        return Attribute(name.text, self._named())

    def _type(self) -> TypeDeclaration:
        name = self._named()
        if not self.peek().is_symbol("=", "<:"):
            return TypeDeclaration(name, TypeKind.SUBTYPE, (Named("symbol", name.span),))
        kind = TypeKind(self.take().text)
        if self.peek().is_symbol("["):
            return TypeDeclaration(name, kind, (), (Branch(None, self._fields("]")),))
        members = [self._named()]
        if self.peek().is_symbol("{"):
            branches = [Branch(members[0], self._fields("}"))]
            while self.peek().is_symbol("|"):
                self.take()
                branches.append(Branch(self._named(), self._fields("}")))
            return TypeDeclaration(name, kind, (), tuple(branches))
        while self.peek().is_symbol("|"):
            self.take()
            members.append(self._named())
        return TypeDeclaration(name, kind, tuple(members))

    def _fields(self, end: str) -> tuple[Attribute, ...]:
        """Reads what stands in the brackets of a record or a branch."""
        self.take()
        fields = [] if self.peek().is_symbol(end) else self.separated(self._attribute)
        self.expect(end)
        return tuple(fields)

    def _directives(self, kind: Named) -> list[Directive]:
        names = self.separated(self._named)
        parameters: list[tuple[str, str]] = []
        if self.peek().is_symbol("("):
            self.take()
            if not self.peek().is_symbol(")"):
                parameters = self.separated(self._parameter)
            self.expect(")")
        return [Directive(kind, name, tuple(parameters)) for name in names]

    def _parameter(self) -> tuple[str, str]:
        name = self.expect_name('a parameter, such as `filename="edges.csv"`')
        self.expect("=")
        token = self.take()
        return name.text, str(token.value) if token.kind is TokenKind.STRING else token.text

    def _instance(self) -> Instance:
        name = self._named()
        arguments: list[Named] = []
        if self.peek().is_symbol("<"):
            self.take()
            arguments = self.separated(self._named)
            self.expect(">")
        return Instance(name, tuple(arguments))

    def _component(self) -> Component:
        head = self._instance()
        bases: list[Instance] = []
        if self.peek().is_symbol(":", "<:"):
            self.take()
            bases = self.separated(self._instance)
        self.expect("{")
        items = self._items(lambda: self.peek().is_symbol("}"))
        self.expect("}")
        return Component(head.component, tuple(one.name for one in head.arguments), tuple(bases), tuple(items))

    # --- clauses ----------------------------------------------------------------------------------------------------

    def _clause(self) -> Clause:
        start = self.peek().span
        self.hoisted = []
        heads = self.separated(self._head)
        asked = self._asked()
        worse: ast.Head | None = None
        if self.peek().is_symbol("<=") and len(heads) == 1:
            self.take()
            worse, heads = heads[0], [self._head()]
            asked += self._asked()
        body: ast.Conjunction | None = None
        if self.peek().is_symbol(":-"):
            self.take()
            body = self._body()
        if asked:
            parts = (*asked, *(body.parts if body else ()))
            body = ast.Conjunction(parts, start)
        end = self.expect(".")
        while self.peek().is_symbol(".") and self.peek(1).is_word("plan"):
            self._skip_plan()
        first, *others = heads
        return Clause(ast.Rule(first, body, None, (), start.to(end.span), tuple(others)), worse)

    def _skip_plan(self) -> None:
        """Passes over `.plan 0:(2,1)`: joins are ordered by statistics."""
        self.take()
        line = self.take().span.begin.line
        while self.peek().span.begin.line == line and self.peek().kind is not TokenKind.END:
            self.take()

    def _asked(self) -> list[ast.BodyPart]:
        asked, self.hoisted = self.hoisted, []
        return asked

    def _head(self) -> ast.Head:
        name = self._named()
        self.expect("(")
        terms = () if self.peek().is_symbol(")") else tuple(self.separated(self.expression))
        end = self.expect(")")
        return ast.Head(name.name, terms, None, name.span.to(end.span), name.span)

    def _body(self) -> ast.Conjunction:
        alternatives = [self._conjunction()]
        while self.peek().is_symbol(";"):
            self.take()
            alternatives.append(self._conjunction())
        if len(alternatives) == 1:
            return alternatives[0]
        span = alternatives[0].span.to(alternatives[-1].span)
        return ast.Conjunction((ast.Disjunction(tuple(alternatives), span),), span)

    def _conjunction(self) -> ast.Conjunction:
        around, self.hoisted = self.hoisted, []
        start = self.peek().span
        parts: list[ast.BodyPart] = []
        while True:
            found = self._part()
            parts += [*self._asked(), *found]
            if not self.peek().is_symbol(","):
                break
            self.take()
        self.hoisted = around
        return ast.Conjunction(tuple(parts), start.to(self.previous().span))

    def _part(self) -> list[ast.BodyPart]:
        token = self.peek()
        if token.is_symbol("!"):
            self.take()
            self.deeper()
            parts = self._part()
            self.depth -= 1
            span = token.span.to(self.previous().span)
            match parts:
                case [ast.Atom(negated=False) as atom]:
                    return [replace(atom, negated=True, span=span)]
                case _:
                    return [ast.Negation(ast.Conjunction(tuple(parts), span), span)]
        if token.is_symbol("(") and self._at_group():
            self.take()
            self.deeper()
            body = self._body()
            self.depth -= 1
            self.expect(")")
            return list(body.parts)
        if token.is_word("true", "false") and not self.peek(1).is_symbol("("):
            self.take()
            if token.text == "true":
                return []
            zero, one = ast.Constant(0, token.span), ast.Constant(1, token.span)
            return [ast.Comparison(ComparisonOperator.EQUAL, zero, one, token.span)]
        if token.kind is TokenKind.NAME and token.text in TESTS and self.peek(1).is_symbol("("):
            self.take()
            self.take()
            pattern, text = self._two()
            return [ast.Atom(TESTS[token.text], (text, pattern), False, token.span, token.span)]
        if self._at_atom():
            name = self._named()
            self.expect("(")
            terms = () if self.peek().is_symbol(")") else tuple(self.separated(self.expression))
            end = self.expect(")")
            return [ast.Atom(name.name, terms, False, name.span.to(end.span), name.span)]
        return [self._constraint()]

    def _two(self) -> tuple[Expression, Expression]:
        first = self.expression()
        self.expect(",")
        second = self.expression()
        self.expect(")")
        return first, second

    def _at_group(self) -> bool:
        """At `(a(x) ; b(x))`, as opposed to `(x + 1) * 2 > y`."""
        after = self.tokens[min(self.matching_parenthesis() + 1, len(self.tokens) - 1)]
        is_word = after.kind is TokenKind.NAME and any(after.text in level for level in _LEVELS)
        return not (is_word or after.is_symbol("=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "^"))

    def _at_atom(self) -> bool:
        """At a relation, as opposed to a call that is compared."""
        ahead = 0
        if self.peek().kind is not TokenKind.NAME:
            return False
        while self._is_joined(ahead + 1):
            ahead += 2
        if not self.peek(ahead + 1).is_symbol("("):
            return False
        behind = self.tokens[min(self.matching_parenthesis(ahead + 1) + 1, len(self.tokens) - 1)]
        return behind.is_symbol(",", ".", ";", ")", "}") or behind.kind in (TokenKind.END, TokenKind.NAME)

    def _constraint(self) -> ast.BodyPart:
        left = self.expression()
        token = self.peek()
        if not (token.kind is TokenKind.SYMBOL and token.text in COMPARISONS):
            raise self.expected("a comparison such as `<` or `=`")
        operator = COMPARISONS[self.take().text]
        right = self.expression()
        span = left.span.to(right.span)
        match left, right:
            case ast.Variable(), ast.Call("range", (first, last, *step)) if operator is ComparisonOperator.EQUAL:
                return self._range(left, first, last, step, span)
        return ast.Comparison(operator, left, right, span)

    def _range(
        self, value: ast.Variable, first: Expression, last: Expression, step: list[Expression], span: Span
    ) -> ast.BodyPart:
        """Returns what gives a variable the values of a range: of constants it may go down, and by any step."""
        match first, last, step:
            case ast.Constant(int() as low), ast.Constant(int() as high), [] | [ast.Constant(int())]:
                by = step[0].value if step and isinstance(step[0], ast.Constant) else 1 if low <= high else -1
                assert isinstance(by, int)
                if by == 0:
                    raise self.problem("DL124", "a range has a step other than 0", span)
                if by != 1:
                    number = ast.Variable(self._new_name("step"), span)
                    zero, count = ast.Constant(0, span), ast.Constant(len(range(low, high, by)), span)
                    self.hoisted.append(ast.Atom("range!", (number, zero, count), False, span, span))
                    steps = ast.Binary(BinaryOperator.MULTIPLY, number, ast.Constant(by, span), span)
                    reached = ast.Binary(BinaryOperator.ADD, first, steps, span)
                    return ast.Comparison(ComparisonOperator.EQUAL, value, reached, span)
            case _, _, [_, *_]:
                raise self._refused("a range of variables with a step", span, "the ends and the step are constants")
        return ast.Atom("range!", (value, first, last), False, span, span)

    # --- expressions ------------------------------------------------------------------------------------------------

    def expression(self) -> Expression:
        self.deeper()
        found = self._words(0)
        self.depth -= 1
        return found

    def _words(self, level: int) -> Expression:
        if level == len(_LEVELS):
            return self._sum()
        left = self._words(level + 1)
        while self.peek().kind is TokenKind.NAME and self.peek().text in _LEVELS[level]:
            name = _LEVELS[level][self.take().text]
            right = self._words(level + 1)
            left = ast.Call(name, (left, right), left.span.to(right.span))
        return left

    def _sum(self) -> Expression:
        left = self._product()
        while self.peek().is_symbol("+", "-"):
            operator = BinaryOperator(self.take().text)
            right = self._product()
            left = ast.Binary(operator, left, right, left.span.to(right.span))
        return left

    def _product(self) -> Expression:
        left = self._power()
        while self.peek().is_symbol("*", "/", "%"):
            text = self.take().text
            right = self._power()
            operator = BinaryOperator.MODULO if text == "%" else BinaryOperator(text)
            left = ast.Binary(operator, left, right, left.span.to(right.span))
        return left

    def _power(self) -> Expression:
        base = self._unary()
        if not self.peek().is_symbol("^"):
            return base
        self.take()
        exponent = self._power()
        return ast.Call("^", (base, exponent), base.span.to(exponent.span))

    def _unary(self) -> Expression:
        token = self.peek()
        is_word = token.kind is TokenKind.NAME and token.text in ("bnot", "lnot") and not self.peek(1).is_symbol(",")
        if not (token.is_symbol("-") or is_word):
            return self._primary()
        self.take()
        self.deeper()
        operand = self._unary()
        self.depth -= 1
        span = token.span.to(operand.span)
        match operand:
            case ast.Constant(int() | float() as value) if token.text == "-":
                return ast.Constant(-value or value, span)
            case _ if token.text == "-":
                return ast.Unary(operand, span)
            case _:
                return ast.Call(token.text, (operand,), span)

    def _primary(self) -> Expression:
        token = self.peek()
        match token.kind:
            case TokenKind.INT | TokenKind.FLOAT | TokenKind.STRING:
                self.take()
                return ast.Constant(token.value, token.span)
            case TokenKind.NAME:
                return self._name()
            case _ if token.is_symbol("("):
                self.take()
                inner = self.expression()
                self.expect(")")
                return inner
            case _ if token.is_symbol("["):
                self.take()
                fields = () if self.peek().is_symbol("]") else tuple(self.separated(self.expression))
                return ast.Call(RECORD, fields, token.span.to(self.expect("]").span))
            case _ if token.is_symbol("$"):
                return self._branch()
            case _ if token.is_symbol("@"):
                self.take()
                return self._functor_call()
            case _:
                raise self.expected("a value")

    def _functor_call(self) -> Expression:
        """Reads a call of a declared functor, behind its `@`."""
        name = self.expect_name("the name of a functor")
        self.expect("(")
        arguments = () if self.peek().is_symbol(")") else tuple(self.separated(self.expression))
        span = name.span.to(self.expect(")").span)
        functor = self.functors.get(name.text)
        if functor is None:
            hint = f"declare it: `.functor {name.text}(x: number): number`"
            raise self.problem("DL124", f"there is no functor `{name.text}`", name.span, hint)
        if len(functor.arguments) != len(arguments):
            count = f"{len(functor.arguments)} argument{'' if len(functor.arguments) == 1 else 's'}"
            raise self.problem("DL124", f"the functor `{name.text}` takes {count}, and gets {len(arguments)}", span)
        return ast.Call(f"@{name.text}", arguments, span)

    def _name(self) -> Expression:
        token = self.take()
        if token.text == "_":
            return ast.Wildcard(token.span)
        if token.text == "nil":
            return ast.Call(NIL, (), token.span)
        if token.text in AGGREGATES and self._at_aggregate():
            return self._aggregate(token)
        if token.text == "as" and self.peek().is_symbol("("):
            self.take()
            inner = self.expression()
            self.expect(",")
            self._named()
            self.expect(")")
            return inner
        if self.peek().is_symbol("("):
            self.take()
            arguments = () if self.peek().is_symbol(")") else tuple(self.separated(self.expression))
            end = self.expect(")")
            return ast.Call(token.text, arguments, token.span.to(end.span))
        return ast.Variable(self._plain(token.text), token.span)

    def _branch(self) -> Expression:
        """Reads `$Node(l, r)` or `$Leaf`."""
        start, name = self.take(), self._named()
        fields: tuple[Expression, ...] = ()
        if self.peek().is_symbol("(") and self.peek().span.start == name.span.end:
            self.take()
            fields = () if self.peek().is_symbol(")") else tuple(self.separated(self.expression))
            self.expect(")")
        return ast.Call(f"${name.name}", fields, start.span.to(self.previous().span))

    def _plain(self, name: str) -> str:
        """Returns the name as a variable of ours has one."""
        name = name.replace("?", "_")
        return f"{name}_" if name == "_" or name.lower() in (*LITERALS, *_OPERATORS) else name

    def _at_aggregate(self) -> bool:
        """Behind the name of an aggregate: `count : …`, `sum x : …`, and not `min(x, y)`."""
        if not self.peek().is_symbol("("):
            return True
        behind = self.tokens[min(self.matching_parenthesis() + 1, len(self.tokens) - 1)]
        return behind.is_symbol(":", "*", "/", "+", "-") and any(
            token.is_symbol(":") for token in self.tokens[self.index : self.index + 30]
        )

    def _aggregate(self, name: Token) -> Expression:
        arguments = () if self.peek().is_symbol(":") else (self.expression(),)
        term = ast.AggregateTerm(AGGREGATES[name.text], arguments, name.span)
        self.expect(":")
        around, self.hoisted = self.hoisted, []
        if self.peek().is_symbol("{"):
            self.take()
            body = self._body()
            self.expect("}")
        else:
            part = self._part()
            body = ast.Conjunction(tuple(part), name.span.to(self.previous().span))
        body = replace(body, parts=(*self._asked(), *body.parts))
        self.hoisted = around
        span = name.span.to(self.previous().span)
        variable = ast.Variable(self._new_name(term.function), span)
        self.hoisted.append(ast.Aggregation(ComparisonOperator.EQUAL, variable, term, body, span))
        return variable

    def _new_name(self, function: str) -> str:
        number = 1
        while f"{function}_{number}" in self.taken:
            number += 1
        self.taken.add(f"{function}_{number}")
        return f"{function}_{number}"
