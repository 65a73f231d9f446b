"""Runs programs in this process, without Spark: recursion by the cyclic workers, the rest by the plan interpreter."""
