"""What `emberlog repl` is made of: the conversation, its commands, and the engines that answer."""
