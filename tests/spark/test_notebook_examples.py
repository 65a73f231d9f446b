"""The notebook of the examples that brings a session of its own, from a clean kernel."""

from __future__ import annotations

from tests.notebooks import executed, outputs


def test_the_pipeline_on_spark() -> None:
    notebook = executed("lineage_on_spark.ipynb")
    texts = "\n".join(outputs(notebook, "text/plain"))
    assert "Spark" in texts and "local[2]" in texts
    assert "exposed(Column, Source): 1 fact\n  report.churn.contact  crm.people.mail" in texts
    shown = [
        output["text"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.get("name") == "stdout"
    ]
    assert any("columns it rests on" in text for text in shown)
    assert not [
        output for cell in notebook.cells for output in cell.get("outputs", []) if output.get("name") == "stderr"
    ]
