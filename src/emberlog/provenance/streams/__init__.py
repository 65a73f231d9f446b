"""Tells why a fact of a stream program is there at a slide, and until when."""
