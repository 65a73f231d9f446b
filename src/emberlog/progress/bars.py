"""Draws the line of a run with tqdm: as text in a terminal, as a widget in a notebook."""

from __future__ import annotations

import sys
import time
from threading import RLock
from typing import TYPE_CHECKING, Any, TextIO

from tqdm.std import tqdm

if TYPE_CHECKING:
    _Base = tqdm[Any]
else:
    _Base = tqdm


class LineBar(_Base):
    """Draws a text with a rate and a clock. How many facts there will be is not known, so there is no bar in it."""

    monitor_interval = 0
    """There is a thread already that looks after the line, and tqdm starts none."""

    def draw(self, text: str, facts: int | None, seconds: float, *, columns: int | None, is_new: bool) -> None:
        """Shows a text `seconds` after it began."""
        self.ncols = columns
        self.bar_format = _format(has_facts=facts is not None)
        self.set_description_str(text, refresh=False)
        if is_new or (facts is not None and facts < self.n):  # a recursion may begin again
            self.reset()
            self.last_print_t = time.time() - seconds  # facts that come now took that long
        self.start_t = time.time() - seconds
        if facts is not None and facts > self.n:
            self.update(facts - self.n)
        else:
            self.refresh()


# A lock between threads will do. That of tqdm is for processes, too, and takes one more process to be cleaned up.
LineBar.set_lock(RLock())


def _format(*, has_facts: bool) -> str:
    rate = "   {rate_noinv_fmt}" if has_facts else ""
    return f"{{desc}}{rate}   {{elapsed_s:,.1f}} s"


_OPTIONS: dict[str, Any] = {
    "bar_format": "{desc}",
    "mininterval": 0,
    "miniters": 0,
    "leave": False,
    "unit": " facts",
    "unit_scale": True,
}


def new_bar(stream: TextIO, *, is_notebook: bool) -> Any:
    """Makes a line on a stream, or below the cell that runs. Without the package of the widgets it is plain text
    there, too."""
    if is_notebook:
        try:
            return _widget_bar()
        except ImportError:
            stream = sys.stdout  # notebooks show the other one in red
    return LineBar(file=stream, **_OPTIONS)


def _widget_bar() -> Any:
    from IPython.display import display
    from tqdm.notebook import tqdm as widget_tqdm

    class WidgetBar(LineBar, widget_tqdm):  # type: ignore[misc, type-arg, unused-ignore]
        """Shows the line as a widget, and leaves an empty output in its place."""

        place: Any = None

        def close(self) -> None:
            super().close()
            if self.place is not None:
                self.place.update({}, raw=True)
                self.place = None

    show: Any = display
    bar: Any = WidgetBar(display=False, **_OPTIONS)
    bar.place = show(bar.container, display_id=True)
    return bar
