"""`emberlog explain --cost` and `--analyze`: rows expected, and rows counted, by the data that the program reads."""

from __future__ import annotations

import argparse

from emberlog.cli.asking import chosen_database
from emberlog.cli.running import prepare
from emberlog.cli.spark_failures import told_as_such


def costs(arguments: argparse.Namespace) -> str:
    """With a final line break."""
    task = prepare(arguments.subject, arguments, off=arguments.off)
    with told_as_such(), chosen_database(arguments) as database:
        for relation, path in task.inputs.items():
            database.register(relation, path, header=arguments.header)
        told = database.cost(
            task.program, analyze=arguments.analyze, params=task.params, iterations=task.iterations, off=task.off
        )
    return f"{told}\n"
