"""Compiles the Java programs of the peers, once, into the cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from benchmarks import locations
from benchmarks.engines.protocol import Unavailable

SOURCES = Path(__file__).parent / "java"


def java_command(name: str) -> str:
    """`java` or `javac`, from JAVA_HOME or the path."""
    home = os.environ.get("JAVA_HOME")
    inside = Path(home) / "bin" / name if home else None
    if inside is not None and inside.is_file():
        return str(inside)
    found = shutil.which(name)
    if found is None:
        raise Unavailable(f"{name} is not on the path (a Java development kit has it)")
    return found


def compiled(program: str, classpath: str) -> Path:
    """The folder with the classes of `java/<program>.java`; compiled again when the source or the libraries change."""
    source = SOURCES / f"{program}.java"
    digest = hashlib.sha256(source.read_bytes() + classpath.encode()).hexdigest()
    folder = locations.java_classes(program)
    stamp = folder / "compiled-from"
    if not stamp.is_file() or stamp.read_text() != digest:
        folder.mkdir(parents=True, exist_ok=True)
        command = [java_command("javac"), "-nowarn", "-d", str(folder), "-cp", classpath, str(source)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"javac could not compile {source.name}:\n{done.stderr}")
        stamp.write_text(digest)
    return folder
