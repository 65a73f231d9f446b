"""Recognises what people write who know another language, and says how it is written here."""

from __future__ import annotations

from emberlog.syntax.lexer import Token, TokenKind
from emberlog.syntax.token_reader import SyntaxProblem, TokenReader

BETWEEN_PARTS = {
    "and": "a comma means «and»: `a(X), b(X)`",
    "or": "a semicolon means «or»: `a(X) ; b(X)`",
    "where": "conditions stand in the body, behind a comma: `a(X), X > 3`",
    "if": "a rule is written `head :- body.`; `if(X > 3, A, B)` chooses between values",
    "then": "a rule is written `head :- body.`; `if(X > 3, A, B)` chooses between values",
    "exists": "leave it out: a variable that stands only in the body may have any value",
}
"""Words that stand between the parts of a body elsewhere."""

_DIRECTIVES = {
    "input": "leave it out: a relation without facts and rules is an input",
    "output": "leave it out: every relation with rules is an answer, or those of queries, `reach(1, Y)?`",
    "printsize": "leave it out: `emberlog run` tells how many facts an answer has",
    "type": "leave it out: types are int, float, string and so on",
}


class ForeignForms(TokenReader):
    def refuse_directive(self) -> None:
        """Refuses `.decl edge(x: number)` and the like, at the beginning of a statement."""
        if not (self.peek().is_symbol(".") and self.peek(1).kind is TokenKind.NAME):
            return
        start = self.take().span
        name = self.take()
        if name.text == "decl" and self.peek().kind is TokenKind.NAME and self.peek(1).is_symbol("("):
            end = self.tokens[self.matching_parenthesis(1)].span
            source = start.source
            hint = f"a declaration is written `declare {source.text[self.peek().span.start : end.end]}.`"
        else:
            hint = _DIRECTIVES.get(name.text, "a full stop ends a statement, and begins none")
        raise self.problem("DL122", f"`.{name.text}` has no meaning here", start.to(name.span), hint)

    def refuse_order(self) -> None:
        """Refuses `order by X` and `limit 10` behind a query."""
        if self.peek().is_word("order", "limit", "offset") and self.previous().is_symbol("?"):
            hint = 'sort what comes out: `result["p"].sort("X").head(10)`; in a rule, `top<10, X>` keeps the largest'
            raise self.problem("DL122", "an answer is a set, without an order", self.peek().span, hint)

    def refuse_arrow(self) -> None:
        """Refuses `a(X) => b(X).` and the like, behind a head."""
        first, second = self.peek(), self.peek(1)
        if first.is_symbol("=", "-") and second.is_symbol(">") and first.span.end == second.span.start:
            hint = "the arrow points to the head, which stands first: `b(X) :- a(X).` for «if a, then b»"
            raise self.problem("DL122", "a rule begins with its head", first.span.to(second.span), hint)
        if first.is_symbol("<=", ":", "="):
            hint = "write `head :- body.`; `<-` and `←` are accepted too"
            message = f"expected `:-` between head and body, found {first.describe()}"
            raise self.problem("DL110", message, first.span, hint)

    def foreign_word(self, token: Token) -> SyntaxProblem | None:
        """Returns what is wrong if this is a word that joins the parts of a body elsewhere."""
        if not token.is_word(*BETWEEN_PARTS):
            return None
        return self.problem(
            "DL122", f"`{token.text}` has no meaning here", token.span, BETWEEN_PARTS[token.text.lower()]
        )
