"""Runs the suite against single faults: which of them its quick tests find, by which test, and in what time.

    python -m tests.mutants.run [--tree FOLDER] [--jobs FILE] [--list] [ID ...]

Each mutant of mutants.toml is a line of sed on one file. It is tried in a copy of the tree, which is thrown away; the
tree itself is not touched. `--tree` names another checkout, an older one: a mutant then says where its file was.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LIMIT_S = 1800
NATIVE = "native"


@dataclass(frozen=True)
class Mutant:
    """One fault. `file`: where it stands, then where it stood in older trees; `tests`: folders and files to find it."""

    id: str
    file: list[str]
    sed: str
    tests: list[str]
    fault: str


@dataclass
class Result:
    id: str
    is_killed: bool
    by: str
    seconds: float = field(default=0)

    def line(self) -> str:
        return f"{self.id:24} {'killed' if self.is_killed else 'SURVIVED':8} {self.seconds:6.0f} s  {self.by}"


def read_mutants(folder: Path = HERE) -> list[Mutant]:
    """All mutants, from every mutants*.toml; raises ValueError where two have one name."""
    found = []
    for path in sorted(folder.glob("mutants*.toml")):
        for entry in tomllib.loads(path.read_text())["mutant"]:
            places = entry["file"] if isinstance(entry["file"], list) else [entry["file"]]
            found.append(Mutant(entry["id"], places, entry["sed"], entry["tests"], entry["fault"]))
    names = [mutant.id for mutant in found]
    if len(set(names)) != len(names):
        raise ValueError(f"two mutants of one name: {sorted({name for name in names if names.count(name) > 1})}")
    return found


class Copy:
    """A copy of a tree, with an environment whose `hekat` is the copy's."""

    def __init__(self, tree: Path, folder: Path) -> None:
        self.root = folder
        for name in self._tracked(tree):
            if (tree / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(tree / name, folder / name)
        modules = [*(tree / "src" / "hekat").glob("_native*.so"), *self._installed_module()]
        if not modules:
            raise SystemExit("there is no built hekat._native: make build")
        self.module = folder / "src" / "hekat" / modules[0].name
        shutil.copy2(modules[0], self.module)
        self._make_environment()

    @staticmethod
    def _tracked(tree: Path) -> list[str]:
        command = ["git", "-C", str(tree), "ls-files", "--cached", "--others", "--exclude-standard"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    @staticmethod
    def _installed_module() -> list[Path]:
        """The native module that this interpreter would load."""
        code = "import hekat._native; print(hekat._native.__file__)"
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        return [Path(found.stdout.strip())] if found.returncode == 0 else []

    def _make_environment(self) -> None:
        """An interpreter that finds the copy and this one's packages, but no editable install among these."""
        environment = self.root / ".venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
        packages = [path for path in sys.path if path.endswith("site-packages")]
        own = next(environment.glob("lib/python*/site-packages"))
        (own / "mutants.pth").write_text("\n".join([str(self.root / "src"), *packages]) + "\n")
        scripts = Path(sys.executable).parent
        for script in scripts.iterdir():
            target = environment / "bin" / script.name
            if script.is_file() and not target.exists():
                text = script.read_bytes()
                if text.startswith(b"#!") and b"python" in text.split(b"\n", 1)[0]:
                    target.write_bytes(f"#!{environment}/bin/python\n".encode() + text.split(b"\n", 1)[1])
                    target.chmod(0o755)
                else:
                    target.symlink_to(script)

    @property
    def python(self) -> str:
        return str(self.root / ".venv" / "bin" / "python")

    def tool(self, name: str) -> str:
        found = shutil.which(name, path=f"{self.root}/.venv/bin:{os.environ['PATH']}")
        if found is None:
            raise SystemExit(f"{name} is missing")
        return found

    def place(self, mutant: Mutant) -> Path:
        """The mutant's file in this tree."""
        for name in mutant.file:
            if (self.root / name).is_file():
                return self.root / name
        raise SystemExit(f"{mutant.id}: none of {', '.join(mutant.file)} is in {self.root}")

    def build_module(self) -> None:
        """Brings the native module up to date with its sources."""
        build = self.root / "build" / "mutants-module"
        if not (build / "build.ninja").exists():
            command = [self.tool("cmake"), "-S", str(self.root), "-B", str(build), "-G", "Ninja"]
            command += [f"-DCMAKE_MAKE_PROGRAM={self.tool('ninja')}", "-DCMAKE_BUILD_TYPE=Release"]
            command += [f"-DPython_EXECUTABLE={self.python}", "-DHEKAT_WARNINGS_AS_ERRORS=OFF"]
            run_or_stop(command)
        run_or_stop([self.tool("cmake"), "--build", str(build)])
        shutil.copy2(next(build.glob("_native*.so")), self.module)

    def run_native_tests(self) -> str | None:
        """The first of the C++ tests that fails, or None."""
        build = self.root / "build" / "mutants-native-tests"
        if not (build / "build.ninja").exists():
            command = [self.tool("cmake"), "-S", str(self.root / "native" / "tests"), "-B", str(build), "-G", "Ninja"]
            command += [f"-DCMAKE_MAKE_PROGRAM={self.tool('ninja')}", "-DCMAKE_BUILD_TYPE=Release"]
            run_or_stop([*command, "-DHEKAT_WARNINGS_AS_ERRORS=OFF"])
        run_or_stop([self.tool("cmake"), "--build", str(build)])
        command = [self.tool("ctest"), "--test-dir", str(build), "--stop-on-failure", "-LE", "without-avx512"]
        found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        failed = re.search(r"Test +#\d+: (\w+) .*\*\*\*", found.stdout)
        return f"native {failed[1]}" if found.returncode and failed else None

    def run_pytest(self, tests: list[str]) -> str | None:
        """The first of the quick tests that fails, or None."""
        there = [name for name in tests if (self.root / name).exists()]
        if not there:
            raise SystemExit(f"none of {', '.join(tests)} is in {self.root}")
        command = [self.python, "-m", "pytest", "-x", "-q", "-m", "not long", "-p", "no:cacheprovider", *there]
        found = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        if found.returncode == 0:
            return None
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", found.stdout, re.MULTILINE)
        if failed is None:
            raise SystemExit(f"pytest ends with {found.returncode}:\n{found.stdout[-3000:]}{found.stderr[-1000:]}")
        return failed[1]


def run_or_stop(command: list[str]) -> None:
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        raise SystemExit(f"{' '.join(command)}\n{found.stdout[-3000:]}{found.stderr[-1000:]}")


def try_mutant(copy: Copy, mutant: Mutant) -> Result:
    place = copy.place(mutant)
    before = place.read_text()
    subprocess.run(["sed", "-i", "-E", mutant.sed, str(place)], check=True)
    after = place.read_text()
    try:
        if before == after:
            raise SystemExit(f"{mutant.id}: {mutant.sed} changes nothing in {place.relative_to(copy.root)}")
        started = time.monotonic()
        try:
            by = find(copy, mutant, is_native=place.is_relative_to(copy.root / "native"))
        except subprocess.TimeoutExpired:
            by = "its time limit"
        return Result(mutant.id, by is not None, by or "-", time.monotonic() - started)
    finally:
        place.write_text(before)


def find(copy: Copy, mutant: Mutant, *, is_native: bool) -> str | None:
    """What fails with the mutant in place, or None."""
    if NATIVE in mutant.tests and (by := copy.run_native_tests()):
        return by
    tests = [name for name in mutant.tests if name != NATIVE]
    if not tests:
        return None
    if not is_native:
        return copy.run_pytest(tests)
    sound = copy.module.read_bytes()
    copy.build_module()
    try:
        return copy.run_pytest(tests)
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
        copy = Copy(arguments.tree.resolve(), Path(folder))
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
