"""A machine that cannot build Hekat is told so in one sentence with the cure."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "native" / "check_prerequisites.py"


@pytest.fixture(scope="module")
def checks():
    spec = importlib.util.spec_from_file_location("check_prerequisites", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def no_compiler(tmp_path, monkeypatch) -> Path:
    """A PATH without any program."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    return tmp_path


def test_make_and_pip_want_the_same_python(checks) -> None:
    accepted = [minor for minor in range(8, 20) if not checks.lacking_python((3, minor, 0))]
    said = re.search(r'requires-python = ">=3\.(\d+),<3\.(\d+)"', (ROOT / "pyproject.toml").read_text())
    assert said is not None
    assert accepted == list(range(int(said[1]), int(said[2])))
    for page in ("README.md", "CONTRIBUTING.md", "docs/tutorials/first_hour.md"):
        assert f"Python 3.{accepted[0]} to 3.{accepted[-1]}" in (ROOT / page).read_text(), page


@pytest.mark.parametrize("version", [(2, 7), (3, 10), (3, 14)])
def test_another_python_is_told_which_one_to_give(checks, version) -> None:
    assert checks.lacking_python(version) == (
        f"Hekat needs Python 3.11 to 3.13, and this is Python {version[0]}.{version[1]}: make PYTHON=python3.13 ..."
    )


def test_a_python_without_venv_is_told_the_package(checks, monkeypatch) -> None:
    assert checks.lacking_venv() == ""
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert checks.lacking_venv().endswith(f"sudo apt-get install python{version}-venv")


def test_a_machine_without_a_compiler_gets_one_sentence(no_compiler) -> None:
    run = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1
    assert "sudo apt-get install g++" in run.stderr


def test_a_compiler_that_was_named_and_takes_no_cpp20_is_named(checks, monkeypatch) -> None:
    monkeypatch.setenv("CXX", "true")  # it takes everything
    assert checks.lacking_compiler() == ""
    monkeypatch.setenv("CXX", "false")
    assert checks.lacking_compiler().startswith("CXX=false compiles no C++20")


def test_make_asks_before_pip_does(tmp_path) -> None:
    """What an older Python answers ends make, before an environment is made."""
    made = tmp_path / "made"
    old = tmp_path / "python3.10"
    old.write_text(f'#!/bin/sh\necho "Hekat needs Python 3.11 to 3.13: $*" >&2\ntouch {made}\nexit 1\n')
    old.chmod(0o755)
    run = subprocess.run(
        ["make", "-s", f"PYTHON={old}", f"VENV={tmp_path / 'venv'}", "build"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode != 0
    assert "native/check_prerequisites.py" in run.stderr
    assert made.exists()
    assert not (tmp_path / "venv").exists()


def test_cmake_says_it_too(no_compiler, tmp_path) -> None:
    cmake = shutil.which("cmake", path=str(Path(sys.executable).parent))
    if cmake is None:
        pytest.skip("cmake is not there")
    command = [cmake, "-S", str(ROOT), "-B", str(tmp_path / "build"), "-G", "Ninja"]
    ninja = shutil.which("ninja", path=str(Path(sys.executable).parent))
    run = subprocess.run([*command, f"-DCMAKE_MAKE_PROGRAM={ninja}"], capture_output=True, text=True, check=False)
    assert run.returncode != 0
    assert "sudo apt-get install g++" in " ".join(run.stderr.split())
    assert "CMAKE_CXX_COMPILER-NOTFOUND" not in run.stderr
