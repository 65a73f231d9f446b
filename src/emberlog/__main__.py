"""The command `emberlog`: which commands there are, and what becomes of errors that they do not handle."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from emberlog import __version__
from emberlog.cli import (
    check,
    convert,
    doctor,
    exit_codes,
    explain,
    format,
    lsp,
    run,
    stream,
    studio,
    trace,
    why,
    why_not,
)
from emberlog.cli.help_text import HelpFormatter
from emberlog.cli.interactive import repl
from emberlog.cli.parameters import Parser
from emberlog.cli.terminal import (
    WarningAction,
    survive_narrow_encodings,
    wants_colour,
    warnings_told,
    write_above_the_line,
)

COMMANDS = (run, stream, repl, studio, check, explain, why, why_not, trace, format, convert, lsp, doctor)
"""One module per command; a new one needs `register` and its place here."""

GUIDE = """\
a first program, in reach.dl:
  arc(1, 2). arc(2, 3).
  reach(X, Y) :- arc(X, Y).
  reach(X, Z) :- reach(X, Y), arc(Y, Z).

then:
  emberlog check reach.dl                  is it right, and what is it?
  emberlog run reach.dl                    what are its facts?
  emberlog stream rides.dl --input ride=rides/     what are the facts now, while files arrive?
  emberlog repl reach.dl                   try more rules and queries
  emberlog studio reach.dl                 all of this on a page in the browser
  emberlog explain reach.dl                how is it evaluated?
  emberlog explain reach.dl --output reach.html    the same as a page with pictures
  emberlog why reach.dl 'reach(1, 3)'      why is this fact there?
  emberlog why-not reach.dl 'reach(3, 1)'  and why is this one not?
  emberlog fmt reach.dl                    write it neatly
  emberlog lsp                             the language server: errors, types and names in an editor
  emberlog explain DL203                   what does this error mean?
  emberlog doctor                          is everything there that a run needs?

Each command has examples of its own: emberlog run --help

run and stream use Spark and Java, which are installed with Emberlog; the others use neither, unless asked to
(repl --spark).

exit codes:
  0    fine
  1    errors in the program, its files or its data, or a limit passed; fmt --check, doctor: something to mend
  2    the command was called wrongly
  3    an internal error of Emberlog
  130  interrupted

environment:
  NO_COLOR, FORCE_COLOR   never, or always, use colours; without them, only on a terminal
  EMBERLOG_DEBUG=1        show the traceback of an internal error
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and gives back its exit code."""
    survive_narrow_encodings()
    try:
        code = _run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain once more while it shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exit_codes.FINE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return exit_codes.INTERRUPTED
    return code


def _run(arguments: Sequence[str]) -> int:
    parser = _parser()
    if not arguments:
        parser.print_help()
        return exit_codes.FINE
    _check_command(parser, arguments[0])
    parsed = parser.parse_args(arguments)
    try:
        action: WarningAction = getattr(parsed, "warnings", "show")
        with warnings_told(write_above_the_line, set(), colour=wants_colour(sys.stderr), action=action):
            code: int = parsed.run(parsed)
        return code
    except BrokenPipeError:
        raise
    except Exception as error:
        from emberlog.diagnostics import was_interrupted

        if was_interrupted(error):
            raise KeyboardInterrupt from None
        return _report(error)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="emberlog",
        description="Datalog for Apache Spark: recursive rules in, DataFrames out.",
        epilog=GUIDE,
        formatter_class=HelpFormatter,
    )
    version = f"emberlog {__version__} (Python {sys.version.split()[0]})"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    for command in COMMANDS:
        command.register(commands)
    return parser


def _check_command(parser: argparse.ArgumentParser, first: str) -> None:
    """A kinder answer than a list of choices to a misspelt command, or to a file without one."""
    names = [command.NAME for command in COMMANDS]
    if first.startswith("-") or first in names:
        return
    from emberlog.diagnostics import nearest

    if first.endswith(".dl") or os.path.exists(first):
        parser.error(f"say what to do with {first}, for example: emberlog check {first}")
    guess = nearest(first, names)
    hint = f"did you mean `{guess}`?" if guess else f"the commands: {', '.join(names)}"
    parser.error(f"there is no command `{first}`; {hint}")


def _report(error: Exception) -> int:
    """What a command did not handle: a person's mistake as a diagnostic, one of ours as a single line."""
    from emberlog.diagnostics import EmberlogError, EmberlogWarning, printable, render

    if isinstance(error, EmberlogWarning):
        error = EmberlogError((error.diagnostic,))
    if isinstance(error, EmberlogError):
        print(render(error.diagnostics, colour=wants_colour(sys.stderr)), file=sys.stderr)
        return exit_codes.ERRORS
    if os.environ.get("EMBERLOG_DEBUG"):
        import traceback

        traceback.print_exception(error)
    code, what = _described(error)
    advice = "please report it with the program and this command, and what EMBERLOG_DEBUG=1 adds"
    print(f"error[{code}]: Emberlog itself failed: {printable(what)}; {advice}", file=sys.stderr)
    return exit_codes.INTERNAL


def _described(error: Exception) -> tuple[str, str]:
    """Our own internal errors begin with their code; any other exception is DL901."""
    first = (str(error).splitlines() or [""])[0]
    code, colon, what = first.partition(": ")
    if colon and code.startswith("DL9"):
        return code, what
    return "DL901", f"{type(error).__name__}: {first}".rstrip(": ")


if __name__ == "__main__":
    sys.exit(main())
