"""From tokens to statements, by recursive descent.

After an error the parser skips to the next statement, so that one run shows every syntax error.
Expressions have a parser of their own (expression_parser); declarations and queries too.
"""

from __future__ import annotations

from emberlog.deadline import check_time
from emberlog.diagnostics import Diagnostics, EmberlogError, nearest
from emberlog.source import Source
from emberlog.syntax import ast
from emberlog.syntax.body_parser import BodyParser
from emberlog.syntax.declaration_parser import DeclarationParser
from emberlog.syntax.lexer import READING, Token, TokenKind, tokenize
from emberlog.syntax.token_reader import SyntaxProblem
from emberlog.syntax.vocabulary import ANNOTATIONS

MISSING_FULL_STOP = "DL111"
"""The error that leaves no doubt what the statement says."""


def parse(source: Source, types: frozenset[str] = frozenset()) -> ast.Program:
    """Returns the syntax tree of a program; raises EmberlogError with every syntax error. `types` are those that are
    declared elsewhere."""
    program = parse_tolerantly(source, types)
    if not program.is_readable:
        raise EmberlogError(program.problems)
    return program


def parse_tolerantly(source: Source, types: frozenset[str] = frozenset()) -> ast.Program:
    """Returns the statements that could be read, and what is wrong with the others; the analysis raises it."""
    diagnostics = Diagnostics()
    tokens, comments = tokenize(source, diagnostics)
    parser = _Parser(tokens, diagnostics)
    if types:
        parser.declared_types |= types
    statements = tuple(parser.program())
    return ast.Program(source, statements, tuple(comments), diagnostics.in_order(), frozenset(parser.unread))


class _Parser(BodyParser, DeclarationParser):
    def program(self) -> list[ast.Statement]:
        statements: list[ast.Statement] = []
        self.unread: set[str] = set()
        self.column = 1
        """Where the statement begins in its line."""
        while self.peek().kind is not TokenKind.END:
            check_time(READING)
            before, found = self.index, len(self.diagnostics.found)
            self.begun, self.column = self.peek().span.start, self.peek().span.begin.column
            read: list[ast.Statement] = []
            try:
                read = self._statement()
            except SyntaxProblem:
                self._skip_to_next_statement(before)
            is_wrong = any(one.code != MISSING_FULL_STOP for one in self.diagnostics.found[found:])
            if not read or is_wrong or self.is_garbled(self.previous().span):
                skipped = self.tokens[before : self.index]
                self.unread.update(token.text for token in skipped if token.kind is TokenKind.NAME)
            else:
                statements += read
        return statements

    def _skip_to_next_statement(self, begun: int) -> None:
        """To behind the next full stop, or to a token that begins a line, whichever comes first."""
        self.depth = 0
        while self.peek().kind is not TokenKind.END:
            if self.index > begun and self.peek().span.begin.column == 1:
                return
            if self.take().is_symbol(".", "?"):
                return

    def _statement(self) -> list[ast.Statement]:
        token = self.peek()
        self.refuse_directive()
        self.refuse_order()
        if token.is_symbol("@"):
            return [self._annotated()]
        if token.is_symbol("{"):
            return list(self.schema())
        follows_name = self.peek(1).kind is TokenKind.NAME and not self.peek().is_quoted
        if token.is_word("query") and follows_name:
            return [self._query()]
        if token.is_word("declare", "stream", "relation") and follows_name:
            return [self.keyword_declaration()]
        if self.at_type():
            return [self.type_declaration()]
        if self.at_plain_declaration():
            return [self.plain_declaration()]
        return [self._rule_or_query(())]

    def _annotated(self) -> ast.Statement:
        annotations = [self._annotation()]
        while self.peek().is_symbol("@"):
            annotations.append(self._annotation())
        if self.peek().is_symbol("."):
            end = self.take()
            if len(annotations) > 1:
                raise self.problem("DL110", "one annotation at a time can end with a full stop", annotations[1].span)
            return ast.ProgramOption(annotations[0], annotations[0].span.to(end.span))
        return self._rule_or_query(tuple(annotations))

    def _annotation(self) -> ast.Annotation:
        start = self.expect("@")
        name = self.expect_name("the name of an annotation")
        arguments: tuple[ast.Expression, ...] = ()
        end = name
        if self.peek().is_symbol("("):
            self.take()
            arguments = tuple(self.separated(self.expression))
            end = self.expect(")")
        span = start.span.to(end.span)
        if name.text not in ANNOTATIONS:
            guess = nearest(name.text, ANNOTATIONS)
            known = " and ".join(f"@{known}" for known in sorted(ANNOTATIONS))
            hint = f"did you mean @{guess}?" if guess else f"known are {known}"
            if name.text in ("until", "while"):
                hint = "a recursion ends when nothing changes; bound it by a condition in its rules, or @iterations(20)"
            self.report("DL117", f"`@{name.text}` is not an annotation", span, hint)
        elif len(arguments) != ANNOTATIONS[name.text]:
            example = "@iterations(20)" if name.text == "iterations" else f"@{name.text}"
            self.report("DL117", f"`@{name.text}` is written `{example}`", span)
        return ast.Annotation(name.text, arguments, span)

    def _rule_or_query(self, annotations: tuple[ast.Annotation, ...]) -> ast.Statement:
        start = self.peek()
        if start.is_symbol("?", ":-"):
            self.take()
            hint = "write `tc(1, Y)?`; a rule begins with its head: `far(Y) :- tc(1, Y).`"
            raise self.problem("DL110", "a query ends with `?`", start.span, hint)
        if start.is_symbol("!") or (start.is_word("not") and self.peek(1).kind is TokenKind.NAME):
            hint = "a rule says what is true; negate the atom where it is used"
            raise self.problem("DL121", "a head cannot be negated", start.span, hint)
        label = None
        if start.kind is TokenKind.NAME and self.peek(1).is_symbol(":"):
            label = self.take().text
            self.take()
        head = self.head()
        others = self._further_heads()
        body: ast.Conjunction | None = None
        token = self.peek()
        is_subsumption = token.is_symbol("<=") and self.peek(1).text == head.predicate
        if is_subsumption and not others and not annotations and label is None:
            return self._subsumption(head)
        if token.is_symbol("?", ",") and not annotations and label is None:
            return self._query_from_head(head, start, others)
        if token.is_symbol(":-", "<-"):
            self.take()
            body = self.body()
        else:
            self.refuse_arrow()
        begun = annotations[0].span if annotations else start.span
        end = self._full_stop("a rule" if body else "a fact")
        return ast.Rule(head, body, label, annotations, begun.to(end.span), others)

    def _subsumption(self, worse: ast.Head) -> ast.Subsumption:
        """Reads what stands behind the first head of `p(X, C1) <= p(X, C2) :- C2 < C1.`"""
        self.take()
        better = self.head()
        body = None
        if self.peek().is_symbol(":-", "<-"):
            self.take()
            body = self.body()
        end = self._full_stop("a subsumption")
        return ast.Subsumption(worse, better, body, worse.span.to(end.span))

    def _further_heads(self) -> tuple[ast.Head, ...]:
        """Reads the heads behind the first one; what follows the atom of a query stays."""
        others: list[ast.Head] = []
        while self.peek().is_symbol(",") and self.peek(1).kind is TokenKind.NAME and not self.peek(1).is_word("window"):
            is_atom = self.peek(2).is_symbol("(", ",", ":-", "<-", ".", "?") or self.peek(2).kind is TokenKind.END
            if not is_atom:
                break
            self.take()
            others.append(self.head())
        return tuple(others)

    def _full_stop(self, what: str) -> Token:
        """Returns the full stop; without one the next statement is read all the same if it begins on a new line."""
        token = self.peek()
        if token.is_symbol("."):
            return self.take()
        last = self.previous()
        if problem := self.foreign_word(token):
            raise problem
        is_on_new_line = token.span.begin.line > last.span.finish.line
        if is_on_new_line and token.span.begin.column > self.column:
            hint = f"a comma, if {token.describe()} is a part of it; a full stop, if it is at its end"
            raise self.problem("DL111", f"there is a comma or the full stop of {what} missing here", last.span, hint)
        if is_on_new_line or token.kind is TokenKind.END:
            if not self.is_garbled(last.span):
                self.report(MISSING_FULL_STOP, f"{what} ends with a full stop", last.span, "put `.` behind it")
            return last
        raise self.problem(
            "DL110", f"`,`, `;` or the full stop of {what} should stand before {token.describe()}", token.span
        )

    def _query(self) -> ast.Query:
        start = self.take()
        return self._query_from_head(self.head(), start)

    def _query_from_head(self, head: ast.Head, start: Token, others: tuple[ast.Head, ...] = ()) -> ast.Query:
        terms: list[ast.Expression] = []
        for term in head.terms:
            if isinstance(term, ast.AggregateTerm):
                raise self.problem(
                    "DL113",
                    "a query has no aggregates",
                    term.span,
                    "write a rule that aggregates, and query its relation",
                )
            terms.append(term)
        window = None
        if others or (self.peek().is_symbol(",") and not self.is_window(1)):
            place = others[0].span if others else self.peek(1).span
            hint = "write a rule for the conjunction and query its relation"
            raise self.problem("DL118", "a query is one atom", place, hint)
        if self.peek().is_symbol(","):
            self.take()
            window = self.window()
        if not self.peek().is_symbol(".", "?"):
            raise self.problem(
                "DL110",
                f"the end of the query should stand before {self.peek().describe()}",
                self.peek().span,
                "a query is written `tc(1, Y)?` or `query tc(1, Y).`",
            )
        end = self.take()
        atom = ast.Atom(head.predicate, tuple(terms), False, head.span, head.name_span, head.names)
        return ast.Query(atom, window, start.span.to(end.span))
