"""Says what every operator, function and aggregate of the language means: one entry each, for all engines."""
