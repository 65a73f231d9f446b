"""Tells why a fact is there, why another is not, and how a value came about, from recorded iterations."""
