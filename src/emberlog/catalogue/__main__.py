"""Prints docs/errors.md."""

from __future__ import annotations

from emberlog.catalogue import CHAPTERS, Entry, FoundBy

_INTRODUCTION = """\
# Errors and warnings

Every error and warning of Emberlog has a code that stays the same, whatever becomes of its wording.
`emberlog explain DL231` prints an entry of this page. The page is written by `python -m emberlog.catalogue`;
every example of a program on it is run by the tests.
"""

_LEAD = {
    FoundBy.CHECK: "This program gives it:",
    FoundBy.PLAN: "Planning this program gives it:",
    FoundBy.RUN: "Running this program gives it:",
}


def errors_page() -> str:
    parts = [_INTRODUCTION]
    for title, introduction, entries in CHAPTERS:
        parts.append(f"## {title}\n\n{introduction}\n")
        parts += [_entry(entry) for entry in entries]
    return "\n".join(parts)


def heading(entry: Entry) -> str:
    """Returns the title of an entry on the page."""
    return f"{entry.code}: {entry.title}" + (" (warning)" if entry.is_warning else "")


def _entry(entry: Entry) -> str:
    what_to_do = f"**What to do.** {_sentence(entry.remedy)}"
    return f"### {heading(entry)}\n\n{_sentence(entry.meaning)}\n\n{what_to_do}\n\n{_example(entry)}"


def _example(entry: Entry) -> str:
    if entry.found_by is FoundBy.OTHER:
        return f"For example: {_sentence(entry.example)}\n"
    settings = f" error={entry.code}" if entry.found_by is FoundBy.CHECK and not entry.is_warning else ""
    return f"{_LEAD[entry.found_by]}\n\n```datalog{settings}\n{entry.example}```\n"


def _sentence(text: str) -> str:
    """Escapes backslashes and angle brackets, which mean something in Markdown outside code."""
    pieces = text.split("`")
    for index in range(0, len(pieces), 2):
        pieces[index] = pieces[index].replace("\\", "\\\\").replace("<", "\\<")
    return "`".join(pieces)


if __name__ == "__main__":
    print(errors_page(), end="")
