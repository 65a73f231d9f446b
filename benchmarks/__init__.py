"""Emberlog beside its peers: the same programs on the same data, in one command. Start with README.md."""
