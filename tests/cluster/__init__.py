"""Emberlog on a standalone cluster of Spark whose machines have addresses and disks of their own."""
