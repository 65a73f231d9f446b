"""What is measured: programs, the data they run on, and the answers they must give."""
