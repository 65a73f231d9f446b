"""The command line of the benchmarks: python -m benchmarks run | report | compare | list | install | record |
ablate | streams | soak | recovery | scale | growth | editor | studio | live | souffle |
transactions | stream-peers."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import installation, machine, results
from benchmarks.ablation.measure import Patience
from benchmarks.ablation.record import WRONG
from benchmarks.ablation.subjects import SIZES
from benchmarks.engines.catalogue import ENGINES, KNOWN, WITHOUT, Entry, find
from benchmarks.engines.protocol import Settings, Unavailable
from benchmarks.locations import REPOSITORY
from benchmarks.recording import record_agreed_answers
from benchmarks.recovery import PARTS
from benchmarks.report.comparison import compare
from benchmarks.report.write import write_report
from benchmarks.runner import Options, Runner
from benchmarks.workloads.catalogue import SETS, WORKLOADS, choose
from emberlog.optimize.pipeline import PASS_NAMES

_DEFAULTS = {"smoke": (1, 60.0, False), "small": (3, 120.0, True), "full": (3, 600.0, True)}
"""For each set: repetitions, seconds for one run, whether each workload gets new processes."""


def main(arguments: list[str]) -> int:
    parsed = _parser().parse_args(arguments)
    # Being ended from outside must end the engines too, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code: int = parsed.command(parsed)
    except (installation.InstallationFailed, FileNotFoundError) as problem:
        print(problem, file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough. Python must not try to write the rest when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("stopped; what was measured so far is kept", file=sys.stderr)
        return 130
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Emberlog beside its peers.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="measure, and write results.json and a report")
    run.add_argument("--set", choices=SETS, default="smoke", dest="set_name")
    run.add_argument(
        "--only", nargs="+", default=[], metavar="PATTERN", help="programs or workloads, such as tc or cc/rmat1-*"
    )
    run.add_argument("--engines", nargs="+", type=_engine, default=list(ENGINES.values()), metavar="ENGINE")
    run.add_argument("--repeat", type=int, help="timed runs after the first one")
    run.add_argument("--timeout", type=float, help="seconds for one run")
    run.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    run.add_argument(
        "--memory", type=float, metavar="GIB", help="what one engine may use; half of the machine if not given"
    )
    run.add_argument(
        "--papers-data", type=Path, metavar="DIR", help="the graphs of the papers: tree11, grid150, gnp10K .csv"
    )
    run.add_argument("--output", type=Path, metavar="DIR", help="benchmarks/.cache/results/DATE if not given")
    run.set_defaults(command=_run)

    report = commands.add_parser("report", help="write the report of a run again, or of several that belong together")
    report.add_argument("folders", type=Path, nargs="+", metavar="DIR")
    report.add_argument("--output", type=Path, metavar="DIR", help="where to write; the first folder if not given")
    report.set_defaults(command=_report)

    comparison = commands.add_parser("compare", help="what changed between two runs")
    comparison.add_argument("before", type=Path)
    comparison.add_argument("after", type=Path)
    comparison.set_defaults(command=_compare)

    listing = commands.add_parser("list", help="workloads and engines")
    listing.set_defaults(command=_list)

    install = commands.add_parser("install", help="fetch the peers that pip can give")
    names = installation.INSTALLABLE
    install.add_argument("--engines", nargs="+", choices=names, default=list(names), metavar="ENGINE")
    install.set_defaults(command=_install)

    record = commands.add_parser("record", help="keep answers on which independent engines agreed as the expected ones")
    record.add_argument("folder", type=Path)
    record.set_defaults(command=_record)

    ablate = commands.add_parser("ablate", help="leave each pass of the optimizer out, and measure what it gains")
    ablate.add_argument("--only", nargs="+", default=[], choices=PASS_NAMES, metavar="PASS")
    ablate.add_argument("--size", choices=tuple(SIZES), default="small")
    ablate.add_argument("--repeat", type=int, default=3)
    ablate.add_argument("--timeout", type=float, default=60.0, help="seconds for one run (60)")
    ablate.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    ablate.add_argument("--memory", type=float, metavar="GIB", help="of the session; half of the machine if not given")
    ablate.add_argument("--output", type=Path, required=True, metavar="DIR")
    ablate.set_defaults(command=_ablate)

    streams = commands.add_parser("streams", help="measure programs over streams, and write streams.json and a report")
    streams.add_argument("--tuples", type=int, default=1_000_000)
    streams.add_argument("--budget", type=float, default=20.0, help="seconds of evaluation for each case (20)")
    streams.add_argument("--only", nargs="+", default=[], metavar="QUERY", help="such as Q4")
    streams.add_argument("--no-spark", action="store_true", help="measure in this process alone")
    streams.add_argument("--output", type=Path, required=True, metavar="DIR")
    streams.set_defaults(command=_streams)

    soak = commands.add_parser("soak", help="a month of a stream: does memory stay flat?")
    soak.add_argument("--tuples", type=int, default=10_000_000)
    soak.add_argument("--deletes", action="store_true", help="a third of them delete what came before")
    soak.add_argument("--output", type=Path, required=True, metavar="DIR")
    soak.set_defaults(command=_soak)

    recovery = commands.add_parser("recovery", help="on Spark: killed workers, checkpoints, and async beside rounds")
    recovery.add_argument("--only", nargs="+", default=[], choices=PARTS, metavar="PART", help=" ".join(PARTS))
    recovery.add_argument("--kills", type=int, default=2, help="of each case (2)")
    recovery.add_argument("--repeat", type=int, default=5, help="timed runs of everything else (5)")
    recovery.add_argument("--output", type=Path, required=True, metavar="DIR")
    recovery.set_defaults(command=_recovery)

    scale = commands.add_parser("scale", help="what each worker sends and holds, by their number, in this process")
    scale.add_argument("--only", nargs="+", default=[], metavar="CASE", help="tc sg cc sssp pagerank points-to star")
    scale.add_argument("--workers", nargs="+", type=int, default=[2, 4, 8, 16, 64, 256, 1024], metavar="N")
    scale.add_argument("--output", type=Path, required=True, metavar="DIR")
    scale.set_defaults(command=_scale)

    souffle = commands.add_parser("souffle", help="analyses of over a hundred rules in Soufflé's language")
    souffle.add_argument("--only", nargs="+", default=[], metavar="ANALYSIS", help="points_to access data_flow")
    souffle.add_argument("--rows", type=int, default=1_000_000, metavar="N", help="facts, about (1,000,000)")
    souffle.add_argument("--engine", choices=("local", "spark"), default="local")
    souffle.set_defaults(command=_souffle)
    growth = commands.add_parser("growth", help="time against derived facts, over three sizes, in this process")
    growth.add_argument("--only", nargs="+", default=[], metavar="PROGRAM", help="tc cc andersen")
    growth.add_argument("--repeat", type=int, default=3, metavar="N", help="timed runs of each size (3)")
    growth.add_argument("--output", type=Path, required=True, metavar="DIR")
    growth.set_defaults(command=_growth)

    editor = commands.add_parser("editor", help="from a key to the diagnostics, over standard input and output")
    editor.add_argument("--rules", nargs="+", type=int, default=[30, 100, 300, 1000], metavar="N")
    editor.add_argument("--keys", type=int, default=10, metavar="N", help="that make a mistake, and that mend it (10)")
    editor.set_defaults(command=_editor)

    studio = commands.add_parser("studio", help="what one waits for in the studio, in a real browser")
    studio.add_argument("--rules", nargs="*", type=int, default=[30, 100, 300, 1000], metavar="N")
    studio.add_argument("--keys", type=int, default=10, metavar="N", help="that make a mistake, and that mend it (10)")
    studio.add_argument("--facts", type=int, default=100_000_000, metavar="N", help="of the answer; 0 for none")
    studio.set_defaults(command=_studio)

    live = commands.add_parser("live", help="transactions of one row on live views, beside computing anew")
    live.add_argument("--only", nargs="+", default=[], metavar="CASE", help="tc-sparse tc-dense cc andersen")
    live.add_argument("--output", type=Path, required=True, metavar="DIR")
    live.set_defaults(command=_live)
    ten = commands.add_parser("transactions", help="ten rows at a time into a live view, beside DuckDB and Pathway")
    ten.add_argument("--output", type=Path, required=True, metavar="DIR")
    ten.set_defaults(command=_transactions)
    windows = commands.add_parser("stream-peers", help="windows of streams, beside DuckDB from scratch and Pathway")
    windows.add_argument("--output", type=Path, required=True, metavar="DIR")
    windows.set_defaults(command=_stream_peers)
    return parser


def _engine(name: str) -> Entry:
    try:
        entry = find(name)
        entry.create()
    except KeyError:
        known = ", ".join(KNOWN)
        raise argparse.ArgumentTypeError(f"there is no engine {name}; there are {known}") from None
    except Unavailable as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None
    return entry


def _run(arguments: argparse.Namespace) -> int:
    workloads = choose(arguments.set_name, arguments.only)
    if not workloads:
        print(f"nothing in the set {arguments.set_name} fits {' '.join(arguments.only)}", file=sys.stderr)
        return 2
    repeat, timeout, fresh = _DEFAULTS[arguments.set_name]
    options = Options(
        set_name=arguments.set_name,
        settings=_settings(arguments),
        repeat=arguments.repeat or repeat,
        timeout=arguments.timeout or timeout,
        fresh=fresh,
        papers_data=arguments.papers_data,
    )
    now = datetime.now(UTC).strftime("%Y-%m-%d-%H%M%S")
    output = arguments.output or REPOSITORY / "benchmarks" / ".cache" / "results" / now
    order = list(KNOWN)
    entries = sorted(arguments.engines, key=lambda entry: (order.index(entry.name.partition(WITHOUT)[0]), entry.name))
    runner = Runner(entries, options, lambda line: print(line, flush=True))
    run = runner.run(workloads, output)
    for path in write_report(run, output):
        print(path)
    wrong = [one for one in run.measurements if one.status in (results.WRONG, results.DISAGREES)]
    return 1 if wrong else 0


def _settings(arguments: argparse.Namespace) -> Settings:
    memory = arguments.memory or max(1.0, machine.memory_bytes("MemTotal") / 2**31)
    return Settings(arguments.threads, round(memory, 1))


def _report(arguments: argparse.Namespace) -> int:
    run = results.merged([results.read(folder) for folder in arguments.folders])
    for path in write_report(run, arguments.output or arguments.folders[0]):
        print(path)
    return 0


def _compare(arguments: argparse.Namespace) -> int:
    print(compare(results.read(arguments.before), results.read(arguments.after)))
    return 0


def _list(arguments: argparse.Namespace) -> int:
    for workload in WORKLOADS.values():
        sets = " ".join(name for name in SETS if name in workload.sets)
        print(f"{workload.name:45} {sets:17} {workload.program.title}; {workload.dataset.about}")
    print()
    for entry in ENGINES.values():
        engine = entry.create()
        print(f"{entry.name:22} {engine.title} ({engine.installed_by})")
    return 0


def _install(arguments: argparse.Namespace) -> int:
    for line in installation.install(arguments.engines):
        print(line)
    return 0


def _record(arguments: argparse.Namespace) -> int:
    for line in record_agreed_answers(results.read(arguments.folder)):
        print(line)
    return 0


def _ablate(arguments: argparse.Namespace) -> int:
    from benchmarks.ablation.run import AblationOptions, ablate

    patience = Patience(arguments.repeat, arguments.timeout)
    options = AblationOptions(arguments.size, tuple(arguments.only), _settings(arguments), patience)
    run = ablate(options, arguments.output, lambda line: print(line, flush=True))
    for path in write_report(run, arguments.output):
        print(path)
    return 1 if any(one.outcome == WRONG for one in run.ablations) else 0


def _streams(arguments: argparse.Namespace) -> int:
    from benchmarks.streaming.report import write_stream_report
    from benchmarks.streaming.run import StreamRunOptions, run_cases

    options = StreamRunOptions(arguments.tuples, arguments.budget, tuple(arguments.only), not arguments.no_spark)
    found = run_cases(options, arguments.output, lambda line: print(line, flush=True))
    for path in write_stream_report(found, arguments.output):
        print(path)
    return 0


def _soak(arguments: argparse.Namespace) -> int:
    from benchmarks.streaming.soak import soak

    found = soak(arguments.tuples, arguments.output, lambda line: print(line, flush=True), deletes=arguments.deletes)
    print(f"resident memory at the end is {found.growth:.2f} times that after a quarter of the stream")
    print(f"the last batch, with the state made again from the checkpoint: {found.restart_seconds:.1f} s")
    return 0


def _scale(arguments: argparse.Namespace) -> int:
    from benchmarks.scale.cases import CASES
    from benchmarks.scale.run import run

    unknown = set(arguments.only) - CASES.keys()
    if unknown:
        print(f"no such case: {', '.join(sorted(unknown))}; there are {' '.join(CASES)}", file=sys.stderr)
        return 2
    for line in run(arguments.only or list(CASES), arguments.workers, arguments.output):
        print(line, flush=True)
    return 0


def _editor(arguments: argparse.Namespace) -> int:
    from benchmarks.editor import run

    for line in run(arguments.rules, arguments.keys):
        print(line, flush=True)
    return 0


def _studio(arguments: argparse.Namespace) -> int:
    from benchmarks.studio import first_page, keys

    for line in keys(arguments.rules, arguments.keys) if arguments.rules else ():
        print(line, flush=True)
    for line in first_page(arguments.facts) if arguments.facts else ():
        print(line, flush=True)
    return 0


def _souffle(arguments: argparse.Namespace) -> int:
    from benchmarks.souffle.measure import run

    for line in run(arguments.only, arguments.rows, arguments.engine):
        print(line, flush=True)
    return 0


def _growth(arguments: argparse.Namespace) -> int:
    from benchmarks.growth import CASES, run

    unknown = set(arguments.only) - CASES.keys()
    if unknown:
        print(f"no such program: {', '.join(sorted(unknown))}; there are {' '.join(CASES)}", file=sys.stderr)
        return 2
    for line in run(arguments.only or list(CASES), arguments.repeat, arguments.output):
        print(line, flush=True)
    return 0


def _transactions(arguments: argparse.Namespace) -> int:
    from benchmarks.transactions import run

    for line in run(arguments.output):
        print(line, flush=True)
    return 0


def _stream_peers(arguments: argparse.Namespace) -> int:
    from benchmarks.streaming.peers import run

    for line in run(arguments.output):
        print(line, flush=True)
    return 0


def _live(arguments: argparse.Namespace) -> int:
    from benchmarks.live import CASES, run

    unknown = set(arguments.only) - CASES.keys()
    if unknown:
        print(f"no such case: {', '.join(sorted(unknown))}; there are {' '.join(CASES)}", file=sys.stderr)
        return 2
    for line in run(arguments.only or list(CASES), arguments.output):
        print(line, flush=True)
    return 0


def _recovery(arguments: argparse.Namespace) -> int:
    from benchmarks.recovery.report import write_recovery_report
    from benchmarks.recovery.run import RecoveryOptions, run_parts

    options = RecoveryOptions(tuple(arguments.only), arguments.kills, arguments.repeat)
    found = run_parts(options, arguments.output, lambda line: print(line, flush=True))
    print(write_recovery_report(found, arguments.output))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
