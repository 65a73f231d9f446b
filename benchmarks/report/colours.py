"""One colour for each engine, the same in every plot of every report."""

from __future__ import annotations

from benchmarks.engines.catalogue import ENGINES

_WARM = ("#c2410c", "#f59e0b", "#e11d48", "#fb7185", "#a16207", "#fcd34d")
_COOL = ("#1d4ed8", "#60a5fa", "#0e7490", "#7c3aed", "#15803d", "#86198f", "#57534e", "#94a3b8")

PALETTE = (*_COOL, *_WARM)
"""For lines that are not engines."""


def colour_of(engine: str) -> str:
    """Emberlog's engines have the warm colours, peers the cool ones; by their place in the catalogue."""
    is_own = engine.startswith("emberlog")
    palette = _WARM if is_own else _COOL
    alike = [name for name in ENGINES if name.startswith("emberlog") == is_own]
    return palette[(alike.index(engine) if engine in alike else len(alike)) % len(palette)]
