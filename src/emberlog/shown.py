"""Lets objects show themselves in notebooks."""

from __future__ import annotations

from collections.abc import Container
from importlib import import_module


class Shown:
    """Has a face in JupyterLab, VS Code and wherever else objects are asked for HTML. All faces are in `faces`, which
    stands above whatever has one, so that it is looked up by its name, and loaded when a notebook asks."""

    __slots__ = ()

    def _repr_mimebundle_(
        self, include: Container[str] | None = None, exclude: Container[str] | None = None
    ) -> dict[str, str]:
        face = import_module("emberlog.faces").face(self)
        bundle = {"text/plain": face.text, "text/html": face.html}
        return {
            kind: text
            for kind, text in bundle.items()
            if (not include or kind in include) and (not exclude or kind not in exclude)
        }

    def _repr_html_(self) -> str:
        return self._repr_mimebundle_()["text/html"]
