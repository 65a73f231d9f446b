"""Workers import Spark's own modules from where they are kept compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from emberlog.daemon import without_archives

ARCHIVES = ("python/lib/pyspark.zip", "python/lib/py4j-0.10.9.9-src.zip", "jars/spark-core.jar")


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    for name in ("pyspark", "py4j"):
        (tmp_path / "packages" / name).mkdir(parents=True)
        (tmp_path / "packages" / name / "__init__.py").touch()
    return tmp_path / "packages"


def archives_in(spark: Path) -> list[str]:
    return [str(spark / name) for name in ARCHIVES]


def test_archives_of_an_installed_package_are_left_out(packages: Path) -> None:
    path = ["", *archives_in(packages / "pyspark"), "/usr/lib/python311.zip", str(packages)]
    assert without_archives(path) == ["", "/usr/lib/python311.zip", str(packages)]


def test_a_link_to_the_package_is_the_package(packages: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(packages)
    assert without_archives([*archives_in(tmp_path / "link" / "pyspark"), str(packages)]) == [str(packages)]


def test_another_spark_than_the_installed_one_is_used_as_it_is(packages: Path, tmp_path: Path) -> None:
    path = [*archives_in(tmp_path / "spark-4.0"), str(packages)]
    assert without_archives(path) == path


@pytest.mark.parametrize("name", ["pyspark", "py4j"])
def test_archives_stay_where_nothing_else_has_their_modules(packages: Path, name: str) -> None:
    (packages / name / "__init__.py").unlink()
    (packages / name).rmdir()
    path = [*archives_in(packages / "pyspark"), str(packages)]
    assert without_archives(path) == path
