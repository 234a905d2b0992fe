"""A copy of a checkout that may be broken: its own interpreter, its own native module, its own builds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

LIMIT_S = 1800


class TreeCopy:
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

    def build_module(self) -> None:
        """Brings the native module up to date with its sources."""
        build = self.root / "build" / "mutants-module"
        if not (build / "build.ninja").exists():
            self._install_nanobind()
            command = [self.tool("cmake"), "-S", str(self.root), "-B", str(build), "-G", "Ninja"]
            command += [f"-DCMAKE_MAKE_PROGRAM={self.tool('ninja')}", "-DCMAKE_BUILD_TYPE=Release"]
            command += [f"-DPython_EXECUTABLE={self.python}", "-DHEKAT_WARNINGS_AS_ERRORS=OFF"]
            run_or_stop(command)
        run_or_stop([self.tool("cmake"), "--build", str(build)])
        shutil.copy2(next(build.glob("_native*.so")), self.module)

    def _install_nanobind(self) -> None:
        """What the module is built with; pip has it in an environment of its own, which is gone after a build."""
        needed = tomllib.loads((self.root / "pyproject.toml").read_text())["build-system"]["requires"]
        own = next((self.root / ".venv").glob("lib/python*/site-packages"))
        wanted = [name for name in needed if name.startswith("nanobind")]
        run_or_stop([sys.executable, "-m", "pip", "install", "--quiet", "--target", str(own), *wanted])

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

    def run_pytest(self, tests: list[str], keyword: str) -> str | None:
        """The first of the quick tests that fails, or None."""
        there = [name for name in tests if (self.root / name).exists()]
        if not there:
            raise SystemExit(f"none of {', '.join(tests)} is in {self.root}")
        command = [self.python, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        command += ["-m", "not long", "-k", keyword, *there]
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
