"""Runs plans on Spark as DataFrames. Slower in recursion than the cyclic executor, but it spills, and survives
whatever Spark survives."""
