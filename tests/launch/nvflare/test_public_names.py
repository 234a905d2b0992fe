"""`hekat.nvflare` without the engine, and what it says then."""

from __future__ import annotations

import subprocess
import sys

import pytest

import hekat.nvflare

WITHOUT = "import sys; sys.modules['nvflare'] = None\n"


@pytest.mark.parametrize("name", hekat.nvflare.__all__)
def test_without_the_engine_the_cure_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hekat.nvflare.find_spec", lambda package: None)
    with pytest.raises(ImportError, match=r"pip install 'hekat\[nvflare\]'"):
        getattr(hekat.nvflare, name)


def test_there_are_no_other_names() -> None:
    with pytest.raises(AttributeError, match="no attribute 'recipe'"):
        _ = hekat.nvflare.recipe


@pytest.mark.long
def test_commands_need_no_engine() -> None:
    program = f"{WITHOUT}from hekat.cli.main import main; sys.exit(main(['doctor', '--json']))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True).returncode == 0
