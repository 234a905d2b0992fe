"""Runs the suite against single faults: which of them its quick tests find, by which test, and in what time.

    python -m tests.mutants.run [--tree FOLDER] [--results FILE] [--list] [ID ...]

Each mutant of mutants.toml is a line of sed on one file. It is tried in a copy of the tree, which is thrown away; the
tree itself is not touched. `--tree` names another checkout, an older one: a mutant then says where its file was.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutants.mutant import Mutant, read_mutants
from tests.mutants.tree_copy import TreeCopy

ROOT = Path(__file__).parents[2]
NATIVE = "native"


@dataclass
class Result:
    id: str
    is_killed: bool
    by: str
    seconds: float = field(default=0)

    def line(self) -> str:
        return f"{self.id:24} {'killed' if self.is_killed else 'SURVIVED':8} {self.seconds:6.0f} s  {self.by}"


def try_mutant(copy: TreeCopy, mutant: Mutant) -> Result:
    place = mutant.place(copy.root)
    sound = place.read_text()
    place.write_text(mutant.text(place))
    started = time.monotonic()
    try:
        try:
            by = find(copy, mutant, is_native=place.is_relative_to(copy.root / "native"))
        except subprocess.TimeoutExpired:
            by = "its time limit"
        return Result(mutant.id, by is not None, by or "-", time.monotonic() - started)
    finally:
        place.write_text(sound)


def find(copy: TreeCopy, mutant: Mutant, *, is_native: bool) -> str | None:
    """What fails with the mutant in place, or None."""
    if NATIVE in mutant.tests and (by := copy.run_native_tests()):
        return by
    tests = [name for name in mutant.tests if name != NATIVE]
    if not tests:
        return None
    if not is_native:
        return copy.run_pytest(tests, mutant.keyword)
    sound = copy.module.read_bytes()
    copy.build_module()
    try:
        return copy.run_pytest(tests, mutant.keyword)
    finally:
        copy.module.write_bytes(sound)


def main() -> int:
    parser = argparse.ArgumentParser(description="which single faults the quick tests find")
    parser.add_argument("ids", nargs="*", help="mutants to try, or beginnings of their names (all if none)")
    parser.add_argument("--tree", type=Path, default=ROOT, help="the checkout to try them in (this one)")
    parser.add_argument("--results", type=Path, help="a JSON file that results are added to")
    parser.add_argument("--list", action="store_true", help="print the mutants and end")
    arguments = parser.parse_args()
    mutants = [one for one in read_mutants() if not arguments.ids or one.id.startswith(tuple(arguments.ids))]
    if arguments.list:
        for mutant in mutants:
            print(f"{mutant.id:24} {mutant.file[0]}: {mutant.fault}")
        return 0
    with tempfile.TemporaryDirectory(prefix="hekat-mutants-") as folder:
        copy = TreeCopy(arguments.tree.resolve(), Path(folder))
        results = []
        for mutant in mutants:
            results.append(try_mutant(copy, mutant))
            print(results[-1].line(), flush=True)
            if arguments.results:
                keep(arguments.results, results[-1])
    survivors = [result.id for result in results if not result.is_killed]
    print(
        f"{len(results) - len(survivors)} of {len(results)} killed"
        + (f"; not {', '.join(survivors)}" if survivors else "")
    )
    return 1 if survivors else 0


def keep(path: Path, result: Result) -> None:
    """Adds a result to the file, in the place of an older one of the same mutant."""
    kept = json.loads(path.read_text()) if path.exists() else {}
    kept[result.id] = {"killed": result.is_killed, "by": result.by, "seconds": round(result.seconds)}
    path.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    sys.exit(main())
