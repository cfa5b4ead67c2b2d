"""`python -m benchmarks [NAME]…`: run measurements and print their tables."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks import beside, hints, huge, mcp, memory, notes, peers, quality, speed, writes
from benchmarks.measure import Missing, Options

MEASUREMENTS: dict[str, Callable[[Options], None]] = {
    "q01": quality.q01, "q02": quality.q02, "q11": quality.q11, "q20": speed.q20, "q22": speed.q22, "q23": speed.q23,
    "q25": speed.q25, "q26": speed.q26, "q03": notes.q03, "q04": memory.q04, "q05": notes.q05, "q21": hints.q21,
    "q24": memory.q24, "q27": mcp.q27, "write": writes.write, "peers": peers.peers,
    "beside02": beside.beside02, "beside11": beside.beside11, "beside22": beside.beside22,
}  # fmt: skip


def main() -> int:
    """Run what was named, or everything; the number of measurements that lacked what they need."""
    listed = "\n".join(
        f"  {name}  {(function.__doc__ or '').splitlines()[0]}" for name, function in MEASUREMENTS.items()
    )
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=f"Measurements:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("names", nargs="*", metavar="NAME", help="measurements to run (default: all)")
    parser.add_argument("--data", type=Path, help="folder of labelled data  [env: CLEW_SHARED_DATA]")
    parser.add_argument("--repos", type=Path, help="folder of the repositories of the labelled data")
    parser.add_argument("--scratch", type=Path, help="folder to keep indexes and downloads in (default: a new one)")
    parser.add_argument("--runs", type=int, default=20, help="runs of each command (default: 20)")
    parser.add_argument("--into", "--peers", type=Path, dest="peers", metavar="DIR",
                        help="folder of the environments of the peers: `peers` fills it, `beside…` use it")  # fmt: skip
    parser.add_argument("--root", type=Path, help="repository for beside22 instead of Django; peers write into it")
    parser.add_argument("--sample", type=int, default=40, help="labelled items that the peers are asked (default: 40)")
    parser.add_argument("--files", type=int, default=0, help="also run q25 in a tree of so many small files")
    parser.add_argument("--shape", choices=huge.SHAPES, default="wide", help="shape of that tree (default: wide)")
    parser.add_argument("--passages", type=int, default=10_000, help="passages of q24 (default: 10000)")
    parser.add_argument("--documents", type=int, default=10_000, help="documents of q21 (default: 10000)")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in MEASUREMENTS]
    if unknown:
        parser.error(f"no measurement {', '.join(unknown)}: one of {', '.join(MEASUREMENTS)}")
    data = given.data or (Path(os.environ["CLEW_SHARED_DATA"]) if os.environ.get("CLEW_SHARED_DATA") else None)
    with tempfile.TemporaryDirectory(prefix="clew-bench-", ignore_cleanup_errors=True) as folder:
        scratch = (given.scratch or Path(folder)).absolute()
        scratch.mkdir(parents=True, exist_ok=True)
        folder_of_peers = given.peers.absolute() if given.peers else None
        options = Options(
            scratch, data, given.repos, given.runs, folder_of_peers, given.files, given.shape,
            given.root.absolute() if given.root else None, given.sample, given.passages,
            given.documents,
        )  # fmt: skip
        missing = 0
        for name in given.names or (name for name in MEASUREMENTS if name != "peers"):
            try:
                MEASUREMENTS[name](options)
            except Missing as error:
                missing += 1
                print(f"\n{name}: not run, needs {error}")
    return missing if given.names else 0


if __name__ == "__main__":
    sys.exit(main())
