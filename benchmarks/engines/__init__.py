"""One small adapter per engine, all behind the same protocol, each run in a process of its own."""
