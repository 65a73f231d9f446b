"""Lists every code that an error or a warning can have: what it means, how to mend it, an example.

`emberlog explain DL231` prints an entry; `python -m emberlog.catalogue` prints docs/errors.md. Tests run the examples
and compare the catalogue with the codes in the sources.
"""

from __future__ import annotations

from emberlog.catalogue.data_entries import DATA_ENTRIES
from emberlog.catalogue.entry import Entry, FoundBy
from emberlog.catalogue.planning_entries import PLANNING_ENTRIES
from emberlog.catalogue.running_entries import INTERNAL_ENTRIES, RUNNING_ENTRIES
from emberlog.catalogue.semantic_entries import SEMANTIC_ENTRIES
from emberlog.catalogue.syntax_entries import SYNTAX_ENTRIES
from emberlog.catalogue.type_entries import TYPE_ENTRIES

__all__ = ("CATALOGUE", "CHAPTERS", "Entry", "FoundBy", "entry_text")

_MEANING = tuple(sorted((*SEMANTIC_ENTRIES, *TYPE_ENTRIES), key=lambda entry: entry.code))

CHAPTERS = (
    ("Syntax (DL1xx)", "The text cannot be read as a program.", SYNTAX_ENTRIES),
    ("Semantics (DL2xx)", "The program can be read, but not given a meaning. DL29x are warnings.", _MEANING),
    ("Planning (DL3xx)", "The program has a meaning, but no plan.", PLANNING_ENTRIES),
    ("Data and files (DL4xx)", "The program is fine; what it is given is not. DL49x are warnings.", DATA_ENTRIES),
    ("Running (DL5xx)", "Limits were passed, or a value could not be computed.", RUNNING_ENTRIES),
    ("Internal (DL9xx)", "Never a mistake of the person.", INTERNAL_ENTRIES),
)

CATALOGUE: dict[str, Entry] = {entry.code: entry for _, _, entries in CHAPTERS for entry in entries}


def entry_text(entry: Entry) -> str:
    """Returns the entry for a terminal, without a final line break."""
    import textwrap

    kind = "warning" if entry.is_warning else "error"
    paragraphs = [
        f"{kind}[{entry.code}]: {entry.title}",
        textwrap.fill(entry.meaning, 100),
        textwrap.fill(f"What to do: {entry.remedy}", 100),
    ]
    if entry.found_by is FoundBy.OTHER:
        paragraphs.append(textwrap.fill(f"Example: {entry.example}", 100))
    else:
        paragraphs.append("Example:\n" + textwrap.indent(entry.example.rstrip("\n"), "  "))
    return "\n\n".join(paragraphs)
