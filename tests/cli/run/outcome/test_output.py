"""What becomes of a run whose output nobody reads, no disk takes, or an encoding cannot show."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hekat.cli.standard_streams import Outlet, degrade
from hekat.report import load_summary

PROGRAM = """import sys
from hekat.cli.main import main
from hekat.cli.run import end
end.write_report = lambda folder: folder / "report.html"
sys.exit(main())"""


def start(workplace, *arguments: object, stdout: object = subprocess.PIPE, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        cwd=workplace.folder,
        env={**os.environ, "NO_COLOR": "1", **environment},
    )


@pytest.fixture
def quick(workplace):
    workplace.shorten()
    return workplace


@pytest.mark.long
def test_a_run_goes_on_to_its_end_when_its_reader_leaves(quick) -> None:
    process = start(quick, "run", quick.folder / "job.toml", "--runs", quick.runs, "--verbose")
    assert "federated" in process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 0
    assert err == ""
    (folder,) = quick.folders()
    assert len(load_summary(folder)["rounds"]["encrypted"]) == 2


@pytest.mark.long
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_no_disk_takes_is_an_error_once_the_run_is_done(quick) -> None:
    with Path("/dev/full").open("w") as full:
        process = start(quick, "run", quick.folder / "job.toml", "--runs", quick.runs, "--verbose", stdout=full)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "not all of the output could be written" in err
    assert "hekat report" in err
    assert load_summary(quick.folders()[0])["rounds"]


@pytest.mark.long
def test_an_encoding_without_the_signs_degrades_them(quick) -> None:
    quick.edit("job.toml", '"south"]', '"süd"]')
    quick.edit("site.toml", r"\[party.south.data", '[party."süd".data')
    environment = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    process = start(quick, "run", "job.toml", "--runs", quick.runs, "--verbose", **environment)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.isascii()
    assert "A value is clipped where update x rows of its party / weight_max" in " ".join(out.split())
    (folder,) = quick.folders()
    assert (folder / "ledger" / "süd.jsonl").exists()


def test_signs_have_plain_forms() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), "ascii", "strict")
    with pytest.raises(UnicodeEncodeError) as refused:
        stream.write("1.5 × 10⁻⁶")
    assert degrade(refused.value) == ("x", 5)
    error = UnicodeEncodeError("ascii", "R² –…±é", 1, 7, "ordinal not in range")
    assert degrade(error) == ("^2 -...+-\\xe9", 7)
    with pytest.raises(UnicodeDecodeError):
        degrade(UnicodeDecodeError("ascii", b"\xff", 0, 1, "not in range"))


def test_what_an_outlet_cannot_write_is_dropped(tmp_path) -> None:
    receiver, sender = os.pipe()
    outlet = Outlet(sender)
    assert outlet.write(b"heard") == 5
    assert os.read(receiver, 10) == b"heard"
    os.close(receiver)
    assert outlet.write(b"unheard") == 7
    assert outlet.failure is None
    os.close(sender)
    with (tmp_path / "file").open("wb"):
        pass
    unwritable = os.open(tmp_path / "file", os.O_RDONLY)
    closed = Outlet(unwritable)
    assert closed.write(b"lost") == 4
    assert isinstance(closed.failure, OSError)
    os.close(unwritable)


@pytest.mark.long
def test_a_command_without_any_output_runs(tmp_path) -> None:
    words = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-c", PROGRAM, "init", "first", "--example"]
    found = subprocess.run(words, cwd=tmp_path, check=False, capture_output=True)
    assert (found.returncode, found.stderr) == (0, b"")
    assert (tmp_path / "first" / "job.toml").exists()


@pytest.mark.long
def test_names_that_a_locale_cannot_write_are_refused_with_a_cure_that_works(quick) -> None:
    quick.edit("job.toml", '"south"]', '"süd"]')
    quick.edit("site.toml", r"\[party.south.data", '[party."süd"]\nstate = "state/süd"\n[party."süd".data')
    ascii_alone = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    process = start(quick, "run", "job.toml", "--runs", quick.runs, **ascii_alone)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "cannot be written in this locale" in err
    assert "defect" not in err
    assert not quick.runs.exists()
    cured = re.search(r"cure: set (\w+)=(\S+) ", err)
    assert cured is not None
    process = start(quick, "run", "job.toml", "--runs", quick.runs, **(ascii_alone | {cured[1]: cured[2]}))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
