"""Holds what `emberlog repl` is made of: the conversation, its commands, and the engine that answers."""
