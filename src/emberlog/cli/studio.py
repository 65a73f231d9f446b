"""`emberlog studio`: opens a page in the browser to write programs, run them, and look at their answers."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from emberlog.cli import exit_codes
from emberlog.cli.parameters import add_command, whole_number

NAME = "studio"

EXAMPLES = """\
examples:
  emberlog studio                       a page with a first program
  emberlog studio reach.dl              this program, with the facts in a folder `facts` beside it
  emberlog studio reach.dl --facts data the files of a folder, each a relation
  emberlog studio --no-browser          tell the address, and open nothing

The page is served on 127.0.0.1, to whoever knows the token in its address, and asks for nothing from elsewhere.
Ctrl-C ends it. It needs NiceGUI: pip install 'emberlog[studio]'
"""


def register(commands: Any) -> None:
    parser = add_command(
        commands,
        NAME,
        run,
        help="write, run and question programs in the browser",
        description="Opens a page with an editor, answers, plans, proofs and profiles. Nothing leaves this machine.",
        examples=EXAMPLES,
    )
    parser.add_argument("program", metavar="PROGRAM", nargs="?", help="a program; saving writes it back")
    parser.add_argument("--facts", metavar="DIR", help="a folder with a file for each relation")
    parser.add_argument("--port", metavar="N", type=whole_number, default=0, help="where to listen (any that is free)")
    parser.add_argument("--no-browser", action="store_true", help="do not open the page")


def run(arguments: argparse.Namespace) -> int:
    from emberlog.diagnostics import fail

    if find_spec("nicegui") is None:
        raise fail("DL530", "the studio needs the package nicegui", None, "pip install 'emberlog[studio]'")
    from emberlog.cli.fact_files import facts_beside, files_in_folder
    from emberlog.studio.session import Session

    path = None if arguments.program is None else Path(arguments.program)
    folder = facts_beside(path) if arguments.facts is None and path is not None else arguments.facts
    session = Session() if path is None else Session(_text(path), path)
    try:
        for name, file in files_in_folder(Path(folder)).items() if folder is not None else ():
            session.data.register(name, file)
        from emberlog.studio.pages.server import serve

        serve(session, arguments.port, _tell, opens_browser=not arguments.no_browser)
    finally:
        session.close()
    return exit_codes.FINE


def _text(path: Path) -> str:
    from emberlog.diagnostics import fail

    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise fail("DL405", f"cannot read `{path}`: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise fail("DL406", f"`{path}` is not text in UTF-8") from None


def _tell(address: str) -> None:
    print(f"the studio is at {address}", flush=True)
    print("this address is for you alone; Ctrl-C ends the studio", flush=True)
