"""Reports of a run: a Markdown text and one self-contained page with plots."""
