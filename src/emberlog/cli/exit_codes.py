"""Names the exit codes of the command line. The numbers are a contract; `emberlog --help` lists them."""

from __future__ import annotations

FINE = 0
ERRORS = 1
"""The program, its files or its data have errors, or a limit was passed; `fmt --check`: a file is not in its canonical
form; `doctor`: something is missing."""
USAGE = 2
"""The command was called wrongly. argparse ends with this number too."""
INTERNAL = 3
"""A mistake of Emberlog itself."""
INTERRUPTED = 130
"""As shells have it for Ctrl-C: 128 and the number of the signal."""
