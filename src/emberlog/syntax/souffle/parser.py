"""From tokens to the items of a program in Soufflé's language, by recursive descent: declarations, directives and
components."""

from __future__ import annotations

from collections.abc import Callable

from emberlog.diagnostics import Diagnostics, nearest
from emberlog.source import Span
from emberlog.syntax.lexer import Token, TokenKind
from emberlog.syntax.souffle.clause_parser import DIRECTIVES, ClauseParser
from emberlog.syntax.souffle.tree import (
    Attribute,
    Branch,
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
from emberlog.syntax.token_reader import SyntaxProblem

ORDEROLD_DIRECTIVES = frozenset({"input", "output", "printsize"})
"""Qualifiers that are directives."""

QUALIFIERS = frozenset(
    {"inline", "no_inline", "magic", "no_magic", "brie", "btree", "btree_delete", "eqrel", "overridable"}
)
"""Qualifiers that say how, and not what; `eqrel` says what, too."""

OLD_DIRECTIVES = frozenset({"input", "output", "printsize"})
"""Qualifiers that are directives."""

MOST_AROUND = 50
"""Components that stand in each other."""

_MISSING = {
    "plan": "it stands behind the full stop of a rule; leave it out, joins are ordered by statistics",
    "lattice": "keep the best by a subsumption: `p(x, v1) <= p(x, v2) :- v1 < v2.`",
    "debug_delta": "leave it out: `emberlog trace` tells what each round derives",
}


class SouffleParser(ClauseParser):
    def __init__(self, tokens: list[Token], diagnostics: Diagnostics) -> None:
        super().__init__(tokens, diagnostics)
        self.functors: dict[str, Functor] = {}
        triples = zip(tokens, tokens[1:], tokens[2:], strict=False)
        self.announced = frozenset(name.text for point, word, name in triples if _announces(point, word, name))
        """The names behind directives: they may be declared, even if that could not be read."""
        self.components = 0
        """How many components stand around."""

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
        self.depth, self.aggregates, self.denials, self.hoisted = 0, 0, 0, []
        level = sum(token.is_symbol("{") - token.is_symbol("}") for token in self.tokens[begun : self.index])
        while self.peek().kind is not TokenKind.END:
            level += self.peek().is_symbol("{") - self.peek().is_symbol("}")
            if level < 0 and self.components:
                return
            is_directive = self.peek().is_symbol(".") and self.peek(1).kind is TokenKind.NAME
            begins_line = self.peek().span.begin.line > self.previous().span.finish.line
            if self.index > begun and begins_line and (is_directive or self.peek().kind is TokenKind.NAME):
                return
            self.take()

    def _item(self) -> list[Item]:
        if not self.peek().is_symbol("."):
            return [self.clause()]
        start = self.take()
        word = self.expect_name("a directive such as `.decl`")
        match word.text:
            case "decl":
                return list(self._relations(start.span))
            case "type":
                return [self._type()]
            case "number_type" | "symbol_type":
                base = Named(word.text.removesuffix("_type"), word.span)
                return [TypeDeclaration(self.named(), TypeKind.SUBTYPE, (base,))]
            case "input" | "output" | "printsize" | "limitsize":
                return list(self._directives(Named(word.text, word.span)))
            case "comp":
                return [self._component()]
            case "init":
                name = self.named()
                self.expect("=")
                return [Initialisation(name, self._instance())]
            case "override":
                return [Override(self.named())]
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
                    guess = nearest(word.text, DIRECTIVES)
                    known = f"known are {', '.join(f'.{one}' for one in DIRECTIVES)}"
                    hint = f"did you mean `.{guess}`?" if guess else known
                    raise self.problem("DL123", f"there is no directive `.{word.text}`", span, hint)
                raise self.refused(f"`.{word.text}`", span, _MISSING[word.text])

    # --- declarations -----------------------------------------------------------------------------------------------

    def _relations(self, start: Span) -> list[RelationDeclaration]:
        names = self.separated(self.named)
        if self.peek().is_symbol("="):
            raise self.refused("a relation of new facts", names[-1].span, _MISSING["debug_delta"])
        self.expect("(")
        attributes: list[Attribute] = [] if self.peek().is_symbol(")") else self.separated(self._attribute)
        end = self.expect(")")
        qualifiers: list[Named] = []
        choices: list[tuple[str, ...]] = []
        while self._at_qualifier():
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

    def _at_qualifier(self) -> bool:
        """At a word behind a declaration, as opposed to the first one of a clause."""
        word, behind = self.peek(), self.peek(1)
        if word.kind is not TokenKind.NAME or behind.is_symbol("(") or self.is_joined(1):
            return False
        is_known = word.text in (*QUALIFIERS, *OLD_DIRECTIVES, "choice")
        return is_known or word.span.begin.line == self.previous().span.finish.line

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
        name = self.named()
        self.expect("(")
        arguments = () if self.peek().is_symbol(")") else tuple(self.separated(self._functor_argument))
        self.expect(")")
        self.expect(":")
        result = self.named()
        if self.peek().is_word("stateful"):
            hint = "a registered function gets values, and keeps no state that answers depend on"
            raise self.refused("a functor with a state", self.peek().span, hint)
        return Functor(name, arguments, result)

    def _functor_argument(self) -> Named:
        if self.peek(1).is_symbol(":"):
            self.take()
            self.take()
        return self.named()

    def _attribute(self) -> Attribute:
        name = self.expect_name("a column, such as `x: number`")
        self.expect(":")
        return Attribute(name.text, self.named())

    def _type(self) -> TypeDeclaration:
        name = self.named()
        if not self.peek().is_symbol("=", "<:"):
            return TypeDeclaration(name, TypeKind.SUBTYPE, (Named("symbol", name.span),))
        kind = TypeKind(self.take().text)
        if self.peek().is_symbol("["):
            return TypeDeclaration(name, kind, (), (Branch(None, self._fields("]")),))
        members = [self.named()]
        if self.peek().is_symbol("{"):
            branches = [Branch(members[0], self._fields("}"))]
            while self.peek().is_symbol("|"):
                self.take()
                branches.append(Branch(self.named(), self._fields("}")))
            return TypeDeclaration(name, kind, (), tuple(branches))
        while self.peek().is_symbol("|"):
            self.take()
            members.append(self.named())
        return TypeDeclaration(name, kind, tuple(members))

    def _fields(self, end: str) -> tuple[Attribute, ...]:
        """Reads what stands in the brackets of a record or a branch."""
        self.take()
        fields = [] if self.peek().is_symbol(end) else self.separated(self._attribute)
        self.expect(end)
        return tuple(fields)

    def _directives(self, kind: Named) -> list[Directive]:
        names = self.separated(self.named)
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
        name = self.named()
        arguments: list[Named] = []
        if self.peek().is_symbol("<"):
            self.take()
            arguments = self.separated(self.named)
            self.expect(">")
        return Instance(name, tuple(arguments))

    def _component(self) -> Component:
        head = self._instance()
        bases: list[Instance] = []
        while self.peek().is_symbol(":", "<:"):
            self.take()
            bases += self.separated(self._instance)
        self.expect("{")
        if self.components == MOST_AROUND:
            hint = "declare components beside each other"
            raise self.problem("DL112", f"components nest deeper than {MOST_AROUND} levels", head.component.span, hint)
        self.components += 1
        items = self._items(lambda: self.peek().is_symbol("}"))
        self.components -= 1
        self.expect("}")
        return Component(head.component, tuple(one.name for one in head.arguments), tuple(bases), tuple(items))


def _announces(point: Token, word: Token, name: Token) -> bool:
    return point.is_symbol(".") and word.kind is name.kind is TokenKind.NAME
