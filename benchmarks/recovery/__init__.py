"""What faults and checkpoints cost on Spark, and what a recursion without rounds gains there."""

from __future__ import annotations

PARTS = ("killed", "async", "checkpoints")
