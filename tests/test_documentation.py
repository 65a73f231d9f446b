"""Every code block of the README, of docs/ and of examples/ is checked, and so is every link.

| block | what happens |
| --- | --- |
| `datalog` | analysed without an error; `datalog error=DL203` must give exactly these codes |
| `python` | run; `python spark` by tests/spark/test_spark_documentation.py |
| `console` | each `$ emberlog …` is run and its output compared; `console spark` likewise |
| `text`, `mermaid` | pictures, grammar, data: not checked |

More words: `file=tc.dl` lets console blocks of the document use the block by that name; behind `datalog`,
`param.source=1` gives a parameter, and `shows=examples/tc.dl` says that the block is that file.
In a console block a line `⋮` stands for any lines. Times in outputs are not compared, nor is the size of the machine.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from docs import generate

from emberlog.diagnostics import EmberlogError, Severity
from emberlog.dialects import parse_tolerantly
from emberlog.semantics.analysis import analyze
from emberlog.source import Source

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
FENCE = re.compile(r"^( *)```(.*?)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
LANGUAGES = {"datalog", "python", "console", "text", "mermaid"}


@dataclass(frozen=True)
class Block:
    document: Path
    line: int
    language: str
    words: tuple[str, ...]
    text: str

    @property
    def is_spark(self) -> bool:
        return "spark" in self.words

    def setting(self, name: str) -> str | None:
        return next((word.removeprefix(f"{name}=") for word in self.words if word.startswith(f"{name}=")), None)

    def __str__(self) -> str:
        return f"{self.document.relative_to(ROOT)}:{self.line}"


def blocks_of(document: Path) -> Iterator[Block]:
    text = document.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        language, *words = match.group(2).split() or [""]
        line = text.count("\n", 0, match.start()) + 1
        yield Block(document, line, language, tuple(words), textwrap.dedent(match.group(3)))


BLOCKS = [block for document in DOCUMENTS for block in blocks_of(document)]


def each(language: str, *, on_spark: bool = False) -> pytest.MarkDecorator:
    blocks = [block for block in BLOCKS if block.language == language and block.is_spark is on_spark]
    return pytest.mark.parametrize("block", blocks, ids=str)


def test_every_block_says_its_language() -> None:
    assert [f"{block}: {block.language}" for block in BLOCKS if block.language not in LANGUAGES] == []


def parameter_value(text: str) -> int | str:
    return int(text) if text.lstrip("-").isdigit() else text


@each("datalog")
def test_datalog_block(block: Block) -> None:
    settings = [word.removeprefix("param.").partition("=") for word in block.words if word.startswith("param.")]
    params = {name: parameter_value(value) for name, _, value in settings}
    expected = set(filter(None, (block.setting("error") or "").split(",")))
    try:
        analyze(parse_tolerantly(Source(str(block), block.text)), params=params)
    except EmberlogError as error:
        found = {one.code for one in error.diagnostics if one.severity is Severity.ERROR}
        assert found == expected, f"\n{error}"
    else:
        assert not expected, f"expected {', '.join(sorted(expected))}, but there is no error"


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.setting("shows")], ids=str)
def test_shown_file(block: Block) -> None:
    assert block.text == (ROOT / str(block.setting("shows"))).read_text(encoding="utf-8")


@each("python")
def test_python_block(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare_folder(block, tmp_path)
    monkeypatch.chdir(tmp_path)
    run_python(block)


def prepare_folder(block: Block, folder: Path) -> None:
    """A folder that has the examples, and the files that the document shows."""
    (folder / "examples").symlink_to(ROOT / "examples")
    for other in blocks_of(block.document):
        if name := other.setting("file"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(other.text, encoding="utf-8")


def run_python(block: Block) -> None:
    # The line breaks in front make tracebacks show the line of the document.
    code = compile("\n" * block.line + block.text, str(block.document), "exec")
    exec(code, {"__name__": "__documentation__"})


def commands_of(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console block with the output that follows it."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def without_times(text: str) -> str:
    """And without the number of cores."""
    return re.sub(r"\blocal\[[^\]]*\]", "local[*]", re.sub(r"\b\d[\d,]*(\.\d+)? (s|ms)\b", "0 s", text))


def agrees(expected: str, found: str) -> bool:
    pattern = "(?:.*\n)*".join(re.escape(piece) for piece in re.split(r"^⋮\n", expected, flags=re.MULTILINE))
    return re.fullmatch(pattern, found) is not None


@each("console")
def test_console_block(block: Block, tmp_path: Path) -> None:
    prepare_folder(block, tmp_path)
    check_console(block, lambda arguments: run_emberlog(arguments, tmp_path))


def check_console(block: Block, run: Callable[[list[str]], str]) -> None:
    for command, expected in commands_of(block):
        program, *arguments = shlex.split(command, comments=True)
        if program == "emberlog":
            found = run(arguments)
            assert agrees(without_times(expected), without_times(found)), f"`{command}` printed\n{found}"
        elif arguments[:1] == ["dev.py"]:
            assert arguments[1] in developer_tasks(), command
        else:
            assert program in ("git", "pip", "cd", "source"), f"nothing checks `{command}`"


def run_emberlog(arguments: list[str], folder: Path) -> str:
    path = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", "COLUMNS": "120"}
    done = subprocess.run(
        [sys.executable, "-m", "emberlog", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    return done.stdout


def developer_tasks() -> list[str]:
    return re.findall(r'^    "([a-z-]+)": \w+,$', (ROOT / "dev.py").read_text(encoding="utf-8"), re.MULTILINE)


def test_generated_tables_are_up_to_date() -> None:
    text = generate.LANGUAGE.read_text(encoding="utf-8")
    assert generate.renewed(text) == text, "run `python3 dev.py docs`"
    streams = generate.STREAMS.read_text(encoding="utf-8")
    assert generate.renewed_shapes(streams) == streams, "run `python3 dev.py docs`"


def anchors_of(document: Path) -> set[str]:
    """The names that GitHub and most viewers give to headings."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", document.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_what_the_architecture_names_is_there() -> None:
    """«[engines/local/run.py](…) (`compute_small`)» is worth nothing when the function has another name."""
    page = ROOT / "docs/architecture.md"
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"\]\((\.\./src/[^)]+\.py)\) \(`(\w+)`\)", text)
    named += [(path, name) for name, path in re.findall(r"`(\w+)` (?:of|in) \[[^]]+\]\((\.\./src/[^)]+\.py)\)", text)]
    assert len(named) >= 5
    missing = [
        f"{name} in {path}"
        for path, name in named
        if not re.search(rf"(def|class) {name}\b", (page.parent / path).read_text(encoding="utf-8"))
    ]
    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links(document: Path) -> None:
    broken = []
    for target in LINK.findall(FENCE.sub("", document.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (document.parent / name).resolve() if name else document
        if not file.exists() or (anchor and anchor not in anchors_of(file)):
            broken.append(target)
    assert broken == []


def test_the_readme_says_what_the_table_says_in_short() -> None:
    report = (ROOT / "docs/benchmarks/table.md").read_text(encoding="utf-8")
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## How fast\n")[2].partition("\n## ")[0]
    told = re.findall(r"^\| DuckDB, recursive CTE \| (\d+) \| (\d+) \| ([\d.]+) ×", report, re.MULTILINE)
    assert len(told) == 3  # on Spark, in one process, and there with nothing kept
    for workloads, faster, mean in told:
        assert f"Of {workloads} workloads that both finish" in section
        assert re.search(rf"in {faster} \([^)]*{re.escape(mean)} ×", section)
