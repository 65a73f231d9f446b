"""Evaluates programs naively, from the checked rules, with an arithmetic of its own. All engines are compared with it.

It shares no evaluation code with `src/`. Golden answers come from here and from nothing else.
"""
