"""Tests that need Spark. They share one session: see `conftest.py`."""
