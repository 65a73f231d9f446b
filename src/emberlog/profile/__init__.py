"""Where the time of a run went: collected from its events, shown as text and as a page."""
