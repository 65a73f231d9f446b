"""`emberlog run --profile`: where the time went, as text and, if a file is named, as a page."""

from __future__ import annotations

from emberlog.cli.program_files import write_text
from emberlog.events import Event, Listener
from emberlog.profile import RunProfile
from emberlog.render.profile_text import profile_text


class Profiling:
    def __init__(self, page: str | None) -> None:
        self._page = page
        self._profile = RunProfile()

    def beside(self, other: Listener) -> Listener:
        """A listener that tells both the profile and another one."""

        def tell(event: Event, /) -> None:
            self._profile(event)
            other(event)

        return tell

    def finish(self, name: str) -> str:
        """The profile as text; writes the page if there is to be one."""
        text = profile_text(self._profile)
        if self._page is None:
            return text
        from emberlog.render.pictures.profile_page import profile_page

        write_text(self._page, profile_page(name, self._profile))
        return f"{text}\n\nprofile: {self._page}"
