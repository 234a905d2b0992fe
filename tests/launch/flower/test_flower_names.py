"""`hekat.flower` without the engine, and what it says then."""

from __future__ import annotations

import subprocess
import sys

import pytest

import hekat.flower


@pytest.mark.parametrize("name", hekat.flower.__all__)
def test_without_the_engine_the_cure_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hekat.flower.find_spec", lambda package: None)
    with pytest.raises(ImportError, match=r"pip install 'hekat\[flower\]'"):
        getattr(hekat.flower, name)


def test_there_are_no_other_names() -> None:
    with pytest.raises(AttributeError, match="no attribute 'strategy'"):
        _ = hekat.flower.strategy


@pytest.mark.long
def test_the_party_process_needs_no_engine() -> None:
    program = "import sys; sys.modules['flwr'] = None\nfrom hekat.cli.main import main; main(['party', '--help'])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0
    assert "beside" in done.stdout


@pytest.mark.long
def test_a_courier_loads_nothing_of_the_roles() -> None:
    # Flower starts a process for every message of every site: what it loads, each round pays for.
    pytest.importorskip("flwr", reason="needs hekat[flower]")
    program = "import sys, hekat.launch.flower.mod\nprint(*(name for name in sys.modules if name.startswith('hekat.')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "hekat.launch.flower.courier" in loaded
    layers = ("channel", "engine", "job", "ledger", "own_loop", "protocol", "run", "scheme", "state", "wire")
    assert [name for name in loaded if name.split(".")[1] in layers] == []
