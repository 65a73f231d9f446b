"""Holds the command line. Each command is one module here, with `register(commands)` and the function it runs.

A module imports what it needs inside its function, so that no command pays for another.
"""
