"""What each pass of the optimizer gains: the same programs with it and without it."""
