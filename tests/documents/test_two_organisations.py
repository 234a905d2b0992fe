"""The tutorial of two organisations, command by command as it stands, in the folders of a bank and an insurer."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hekat.cli.main import main

pytestmark = pytest.mark.long
PAGE = (Path(__file__).parents[2] / "docs" / "tutorials" / "two_organisations.md").read_text(encoding="utf-8")
ROLES = ("bank", "insurer")
ENDS_WITHIN_S = 120
PROGRAM = "import sys\nfrom hekat.cli.main import main\nsys.exit(main())"


def blocks_of(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def words_of(line: str) -> list[str]:
    """A command line of the page, without its comment and the program's name."""
    name, *words = line.partition("#")[0].split()
    assert name == "hekat"
    return words


@pytest.fixture
def call(monkeypatch, capsys):
    """Plays a command line in a folder; what it printed."""

    def play(line: str, folder: Path, code: int = 0) -> str:
        monkeypatch.chdir(folder)
        capsys.readouterr()
        assert main(words_of(line)) == code, capsys.readouterr()
        return capsys.readouterr().out

    return play


def begin(line: str, folder: Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", PROGRAM, *words_of(line)]
    return subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def said_by(process: subprocess.Popen[str]) -> str:
    try:
        said, _ = process.communicate(timeout=ENDS_WITHIN_S)
    except BaseException:
        process.kill()
        raise
    assert process.returncode == 0, said
    return said


def test_every_command_of_the_tutorial_works(tmp_path: Path, call) -> None:
    job, site = blocks_of("toml")
    keys, look, approve, rehearse, audit = (block.splitlines() for block in blocks_of("sh"))
    for role, rows in zip(ROLES, ("client,x\n1,2\n2,3\n3,4\n", "client,y\n2,2\n3,3\n9,4\n"), strict=True):
        (tmp_path / role).mkdir()
        (tmp_path / role / "rows.csv").write_text(rows)
        (line,) = re.findall(rf'{role} = "[^"]+"', call(keys[0].replace("bank", role), tmp_path / role))
        job = re.sub(rf'^{role} = ".*"$', line, job, flags=re.MULTILINE)
    for role in ROLES:
        folder = tmp_path / role
        (folder / "job.toml").write_text(job)
        (folder / "site.toml").write_text(site.replace("bank", role))
        assert "not approved" in call(look[0], folder)
        said = call(look[1], folder, 2)
        assert "approval (hekat job approve): REFUSED" in said
        assert "warning" not in said
        assert [call(line, folder) for line in approve][-1].rstrip().endswith("every line allows the job")
    relay, *roles = rehearse
    relaying = begin(relay, tmp_path)
    while not (tmp_path / "relay.sock").exists():
        assert relaying.poll() is None
        threading.Event().wait(0.05)
    playing = [begin(line, tmp_path / role) for role, line in zip(ROLES, roles, strict=True)]
    assert all("played its role to the end" in said_by(process) for process in playing)
    said_by(relaying)
    runs = {role: next((tmp_path / role / "runs").iterdir()) for role in ROLES}
    assert (runs["bank"] / "intersection" / "bank.csv").is_file()
    (tmp_path / "bank" / "insurer.jsonl").write_bytes((runs["insurer"] / "ledger" / "insurer.jsonl").read_bytes())
    own, both = (line.replace("<id>", runs["bank"].name) for line in audit)
    assert "NO LEDGER of insurer" in call(own, tmp_path / "bank", 1)
    assert "6 messages agree, 0 disagreements" in call(both, tmp_path / "bank")
