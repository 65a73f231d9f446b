"""A stream query in a process of its own, which kills itself: `python -m tests.spark.killed_stream FOLDER AT`.

`AT` counts the dealings of the driver with the checkpoint, so that every place around a commit is met.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emberlog.database import Database
from emberlog.engines.spark.session import start_session
from tests.dealings import Dealings
from tests.spark.conftest import QUICK_TO_START
from tests.spark.test_streams import CHEAP_PATH, rides


def run(spark: SparkSession, folder: Path) -> None:
    """All that there is, to the end."""
    database = Database(spark)
    database["ride"] = rides(spark, folder / "rides")
    query = database.datalog(CHEAP_PATH).start(
        folder / "out",
        checkpointLocation=folder / "checkpoint",
        outputMode="changes",
        availableNow=True,
        closes=True,
    )
    query.awaitTermination()


def main() -> None:
    folder, at = Path(sys.argv[1]), int(sys.argv[2])
    dealings = Dealings(at, lambda: os.kill(os.getpid(), signal.SIGKILL))
    dealings.begin(pytest.MonkeyPatch())
    conf = {"spark.sql.shuffle.partitions": "2", "spark.driver.extraJavaOptions": QUICK_TO_START}
    run(start_session("local[2]", memory="1g", conf=conf), folder)


if __name__ == "__main__":
    main()
