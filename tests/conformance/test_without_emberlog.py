"""Functions of the language that Spark calls in Python go to executors by value, where there may be no Emberlog."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from typing import Any

from pyspark import cloudpickle
from pyspark.sql.types import StringType

from emberlog import language
from emberlog.language.conversions import row_by_row
from emberlog.language.records import READ
from emberlog.language.registry import BUILT_IN, INTERNAL, Functions
from emberlog.language.spark_columns import arrow_udf

ELSEWHERE = """
import base64, json, sys

class NoEmberlog:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "emberlog":
            raise ModuleNotFoundError(f"no module {name}")

sys.meta_path.insert(0, NoEmberlog())
from pyspark import cloudpickle
from pyspark.sql.types import StringType

failed, loaded = {}, {}
for name, data in json.load(sys.stdin).items():
    try:
        loaded[name] = cloudpickle.loads(base64.b64decode(data))
    except Exception as error:
        failed[name] = f"{type(error).__name__}: {error}"
text = loaded["text! by python"]
spelled = [text(20458, "date"), text((30, None), "pair<decimal(2), int>"), text((1, 2), "list<duration>")]
json.dump([failed, spelled], sys.stdout)
"""


def test_every_function_can_be_called_where_there_is_no_emberlog() -> None:
    cloud: Any = cloudpickle
    cloud.register_pickle_by_value(language)
    try:
        forms = {
            f"{one.name} by {form}": base64.b64encode(cloud.dumps(getattr(one, form))).decode()
            for one in (*BUILT_IN.scalars.values(), *INTERNAL.values())
            for form in ("python", "vector")
            if getattr(one, form) is not None
        }
    finally:
        cloud.unregister_pickle_by_value(language)
    assert len(forms) > 100
    ran = subprocess.run([sys.executable, "-c", ELSEWHERE], input=json.dumps(forms), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    failed, spelled = json.loads(ran.stdout)
    assert failed == {}
    assert spelled == ["2026-01-05", "(0.30, null)", "(PT0.000001S, PT0.000002S)"]


def test_what_else_is_pickled_goes_by_name() -> None:
    sent = arrow_udf(row_by_row(BUILT_IN.scalars["upper"].python, object), StringType())
    assert sent.func.__module__ == "__main__"  # type: ignore[attr-defined]
    plan = cloudpickle.loads(cloudpickle.dumps(BUILT_IN))  # type: ignore[no-untyped-call]
    assert type(plan) is Functions
    assert plan.find("read!") is BUILT_IN.find("read!") is READ
