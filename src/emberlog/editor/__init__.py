"""What an editor shows of a program while it is written, and `emberlog lsp`, which tells it to editors."""
