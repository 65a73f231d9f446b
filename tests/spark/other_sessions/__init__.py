"""A small suite for kinds of sessions that cannot share a process with others; `../test_other_sessions.py` runs it."""
