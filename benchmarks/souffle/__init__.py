"""Analyses of a hundred rules and more in Soufflé's language, and facts for them of any size."""
