"""Reads statements from a person at a terminal: with colours, a history, completion and input of several lines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style

from emberlog.catalogue import CATALOGUE
from emberlog.cli.interactive.commands import COMMANDS
from emberlog.cli.interactive.completion import words_for
from emberlog.cli.interactive.console import Console, is_complete
from emberlog.cli.terminal import wants_colour
from emberlog.diagnostics import Diagnostics
from emberlog.language.registry import BUILT_IN, PROCEDURES
from emberlog.places import history_file
from emberlog.source import Source
from emberlog.syntax.lexer import Token, TokenKind, tokenize
from emberlog.syntax.vocabulary import LITERALS

PROMPT = "> "
CONTINUATION = "… "

STYLE = Style.from_dict(
    {
        "prompt": "ansigreen",
        "comment": "ansibrightblack",
        "text": "ansigreen",
        "number": "ansicyan",
        "keyword": "ansimagenta",
        "parameter": "ansimagenta",
        "function": "ansiyellow",
        "relation": "bold",
        "command": "ansimagenta",
    }
)
"""Colours that a terminal has on light and on dark paper."""


def converse(console: Console) -> None:
    """Takes what the person types until they leave: by `.quit`, or by Ctrl-D on an empty line. Ctrl-C forgets what is
    typed."""
    session = new_session(console)
    begun = ""
    while not console.is_over:
        try:
            text = session.prompt(default=begun)
        except KeyboardInterrupt:
            begun = ""
            continue
        except EOFError:
            return
        before, command = _command_below(text)
        begun = f"{before}\n" if command else ""
        if command:
            console.feed(command)
            continue
        for line in text.split("\n"):
            console.feed(line)
        if console.is_in_a_statement:  # the person has ended it by an empty line
            console.feed("")


def new_session(console: Console) -> PromptSession[str]:
    """Makes what edits one input after the other."""
    file = history_file()
    history: History = InMemoryHistory() if file is None else FileHistory(str(file))
    return PromptSession(
        [("class:prompt", PROMPT)],
        multiline=True,
        prompt_continuation=[("class:prompt", CONTINUATION)],
        lexer=ProgramLexer(),
        completer=ProgramCompleter(console),
        complete_while_typing=False,
        history=history,
        enable_open_in_editor=True,
        key_bindings=_keys(),
        style=STYLE,
        color_depth=None if wants_colour(sys.stdout) else ColorDepth.DEPTH_1_BIT,
    )


def _command_below(text: str) -> tuple[str, str]:
    """Splits a command off that stands below an unfinished statement: help is there in the middle of everything."""
    before, _, last = text.rpartition("\n")
    return (before, last.strip()) if before.strip() and last.split()[:1] and last.split()[0] in COMMANDS else (text, "")


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        """Hands a whole statement over, and goes on with the next line of another."""
        buffer = event.current_buffer
        state = buffer.complete_state
        if state is not None and state.current_completion is not None:
            buffer.complete_state = None  # the person has chosen a word, and goes on behind it
            return
        last_line = buffer.text.rpartition("\n")[2]
        if (
            not last_line.strip()
            or buffer.text.lstrip().startswith(".")
            or _command_below(buffer.text)[1]
            or is_complete(buffer.text)
        ):
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=True)

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        """Goes on with the next line, whatever stands there."""
        event.current_buffer.newline(copy_margin=True)

    return keys


class ProgramLexer(Lexer):
    """Colours what is typed by the words of the language's own lexer."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines = [list(line) for line in coloured(document.text)]

        def line_of(number: int) -> StyleAndTextTuples:
            return list(lines[number]) if number < len(lines) else []

        return line_of


def coloured(text: str) -> Iterator[list[tuple[str, str]]]:
    """Yields the pieces of each line with their styles. Together they are the text."""
    line: list[tuple[str, str]] = []
    for style, piece in _pieces(text):
        first, *others = piece.split("\n")
        line.append((style, first))
        for other in others:
            yield line
            line = [(style, other)]
    yield line


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    if text.lstrip().startswith("."):
        command, space, argument = text.partition(" ")
        yield from (("class:command", command), ("", f"{space}{argument}"))
        return
    tokens, comments = tokenize(Source("input", text), Diagnostics())
    styles = [(token.span, _style(token, following)) for token, following in pairwise(tokens)]
    styles += [(comment.span, "class:comment") for comment in comments]
    done = 0
    for span, style in sorted(styles, key=lambda one: one[0].start):
        yield "", text[done : span.start]
        yield style, text[span.start : span.end]
        done = span.end
    yield "", text[done:]


_KEYWORDS = {"declare", "stream", "relation", "query", "not", "div", "mod", "in", "like", "between", *LITERALS}


def _style(token: Token, following: Token) -> str:
    match token.kind:
        case TokenKind.STRING:
            return "class:text"
        case TokenKind.INT | TokenKind.FLOAT | TokenKind.DECIMAL:
            return "class:number"
        case TokenKind.PARAMETER:
            return "class:parameter"
        case TokenKind.NAME if following.is_symbol("(", "<"):
            is_known = token.text in BUILT_IN or token.text in BUILT_IN.aggregates or token.text in PROCEDURES
            if following.is_symbol("<") and token.text not in BUILT_IN.aggregates:
                return ""  # a comparison
            return "class:function" if is_known and not token.is_quoted else "class:relation"
        case TokenKind.NAME if token.is_word(*_KEYWORDS):
            return "class:keyword"
        case _:
            return ""


class ProgramCompleter(Completer):
    """Completes commands and what they take, relations, functions, variables and words of the language."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        line = document.current_line_before_cursor.lstrip()
        if line.startswith(".") and (not document.text.lstrip()[:-1].strip() or _is_command(line) or " " not in line):
            yield from self._of_command(line, complete_event)
            return
        begun, words = words_for(
            document.text, document.cursor_position, self._console.workbook.relations, self._console.workbook.params
        )
        for word in words:
            yield Completion(word.text, -len(begun), display_meta=word.about or word.kind)

    def _of_command(self, line: str, event: CompleteEvent) -> Iterable[Completion]:
        name, space, argument = line.partition(" ")
        if not space:
            for command, about in COMMANDS.items():
                if command.startswith(name):
                    yield Completion(command, -len(name), display_meta=about.help)
        elif name in (".load", ".save"):
            yield from self._paths.get_completions(Document(argument), event)
        else:
            for word in self._arguments(name):
                if word.startswith(argument):
                    yield Completion(word, -len(argument))

    def _arguments(self, command: str) -> Iterable[str]:
        match command:
            case ".facts":
                return self._console.workbook.relations
            case ".explain":
                return (*(f"{name}(" for name in self._console.workbook.relations), *CATALOGUE)
            case ".help":
                return (*COMMANDS, *BUILT_IN.scalars, *BUILT_IN.aggregates, *CATALOGUE)
            case _:
                return ()


def _is_command(line: str) -> bool:
    return line.split(" ", 1)[0] in COMMANDS
