"""Runs on a file system that really is full: no outcome is 0 where a file is missing, and the cures work."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

PAGE = 4096


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """disk(size): an empty file system of so many bytes; only root may make one."""
    places: list[Path] = []

    def mount(size: int) -> Path:
        place = tmp_path / f"disk-{len(places)}"
        place.mkdir()
        try:
            done = subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
        except FileNotFoundError:
            pytest.skip("needs mount")
        if done.returncode:
            pytest.skip(f"needs the right to mount a file system of a few kilobytes: {done.stderr.strip()}")
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def sizes(folder: Path) -> dict[Path, int]:
    """Bytes in whole pages, as a tmpfs counts them."""
    return {path: -(-path.stat().st_size // PAGE) * PAGE for path in folder.rglob("*") if path.is_file()}


def grow(place: Path, size: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(place)], check=True)


def run_on(workplace, place: Path):
    return workplace.call("run", workplace.folder / "job.toml", "--runs", place / "runs")


def test_a_disk_without_room_for_the_report_is_told_of_and_the_cure_writes_it(workplace, disk) -> None:
    workplace.shorten()
    assert workplace.run().code == 0
    (whole,) = workplace.folders()
    needed = sizes(whole)
    # Sizes differ by a page from run to run; the report takes many.
    place = disk(sum(needed.values()) - needed[whole / "report.html"] // 2)
    answer = run_on(workplace, place)
    (folder,) = [path for path in (place / "runs").iterdir() if path.is_dir()]
    assert answer.code == 2
    assert "the run is finished, and its report is missing" in answer.err
    assert "No space left on device" in answer.err
    assert not (folder / "report.html").exists()
    assert (folder / "summary.json").exists()
    (cure,) = [line for line in answer.err.splitlines() if "cure:" in line]
    grow(place, 2 * sum(needed.values()))
    assert workplace.call(*shlex.split(cure.partition("try again: ")[2])[1:]).code == 0
    assert (folder / "report.html").exists()


def test_a_disk_that_fills_up_anywhere_in_a_run_ends_it_with_an_error(workplace, disk) -> None:
    """From no room at all to nearly enough: never 0, never a defect, and what lies there is whole or not there."""
    workplace.shorten()
    assert workplace.run().code == 0
    (whole,) = workplace.folders()
    needed = sum(sizes(whole).values())
    ends = set()
    for part in (0.02, 0.1, 0.25, 0.45, 0.7, 0.9):
        place = disk(max(PAGE, int(part * needed)))
        answer = run_on(workplace, place)
        assert answer.code == 2, (part, answer.out, answer.err)
        assert "No space left on device" in answer.err, (part, answer.err)
        assert "defect" not in answer.err
        ends.add(answer.err.splitlines()[0])
        resume = re.search(r"go on from its last checkpoint with: (.*)", answer.err)
        if resume is not None:
            grow(place, 4 * needed)
            again = workplace.call(*shlex.split(resume[1])[1:])
            assert again.code == 0, (part, again.err)
    assert len(ends) > 1, "all ended at one place"
