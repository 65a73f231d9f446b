"""Compares every entry of the language on every backend with the oracle, on hostile values."""
