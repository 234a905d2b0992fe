"""A small job as a newcomer would write it: three CSV files, a job file, a site file, a stored key; and the command."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from hekat.cli.main import main
from hekat.wire.keyfile import save_private_key

JOB = """format = 1
name = "clinics"
protocol = "horizontal"
parties = ["north", "east", "south"]
aggregator = "hub"
data = "visits"
classes = ["no", "yes"]
weight_max = 100

[training]
rounds = 2
batch_rows = 8

[protection]
kind = "lattice"
"""

SITE = """format = 1

[policy]
min_key_bits = 2048

[party.north]
paillier_key = "leader.key"
[party.north.data.visits]
source = "csv"
path = "north.csv"
label = "ill"

[party.east.data.visits]
source = "csv"
path = "east.csv"
label = "ill"

[party.south.data.visits]
source = "csv"
path = "south.csv"
label = "ill"
"""


@dataclass
class Answer:
    """What one command gave back."""

    code: int
    out: str
    err: str


@dataclass
class Workplace:
    """A folder with job.toml, site.toml and north.csv, east.csv, south.csv; `run()` is `hekat run job.toml`."""

    folder: Path
    capture: pytest.CaptureFixture[str]

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    def edit(self, file: str, pattern: str, replacement: str) -> None:
        """Replace the first match of `pattern`, which must be there."""
        path = self.folder / file
        text, count = re.subn(pattern, replacement, path.read_text(), count=1, flags=re.MULTILINE)
        assert count == 1, f"{pattern} is not in {file}"
        path.write_text(text)

    def shorten(self) -> None:
        """Leave out what a run does beside its rounds: the columns' means and spreads, counts of clipped values."""
        self.edit("job.toml", "batch_rows = 8", "batch_rows = 8\nstandardise = false")
        self.edit("job.toml", r"\[protection\]", '[codec]\nclipping = "fixed"\nalpha = 4.0\n\n[protection]')

    def use_paillier(self) -> None:
        """Make the job one under a Paillier key, the leader's stored one."""
        self.edit("job.toml", 'kind = "lattice"', 'kind = "paillier"\nkey_bits = 2048')

    def open_by(self, opening: str, *, site: str = "") -> None:
        """Open sums in that way; `site` is added to the site file."""
        authority = '\nauthority = "notary"' if opening == "authority" else ""
        self.edit("job.toml", 'kind = "lattice"', f'kind = "lattice"\nopening = "{opening}"{authority}')
        self.edit("site.toml", r"\[policy\]", f'{site}\n[policy]\nopenings = ["committee", "authority", "shared"]')

    def call(self, *arguments: object) -> Answer:
        self.capture.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:  # argparse
            code = int(stop.code or 0)
        out, err = self.capture.readouterr()
        return Answer(code, out, err)

    def run(self, *options: object) -> Answer:
        return self.call("run", self.folder / "job.toml", "--runs", self.runs, *options)

    def start(self, *arguments: object, prelude: str = "") -> subprocess.Popen[str]:
        """The command in a process of its own; `prelude` is Python that runs before it."""
        program = f"{prelude}\nimport sys\nfrom hekat.cli.main import main\nsys.exit(main())"
        return subprocess.Popen(
            [sys.executable, "-c", program, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={**os.environ, "NO_COLOR": "1"},
        )

    def folders(self) -> list[Path]:
        """The run folders in the order they were made: names of one second are in no order."""
        return sorted(self.runs.iterdir(), key=first_time_in) if self.runs.exists() else []


def first_time_in(folder: Path) -> int:
    """When the oldest thing in the folder was last written."""
    return min((entry.lstat().st_mtime_ns for entry in folder.iterdir()), default=0)


def write_table(path: Path, seed: int, rows: int = 20) -> None:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, 3))
    ill = features[:, 0] + 0.2 * rng.normal(size=rows) > 0
    ill[:2] = [True, False]
    lines = ["age,dose,days,ill"]
    lines += [f"{a:.4f},{b:.4f},{c:.4f},{'yes' if y else 'no'}" for (a, b, c), y in zip(features, ill, strict=True)]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def workplace(tmp_path: Path, capsys: pytest.CaptureFixture[str], paillier_keys) -> Workplace:
    for seed, party in enumerate(("north", "east", "south")):
        write_table(tmp_path / f"{party}.csv", seed)
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "site.toml").write_text(SITE)
    save_private_key(tmp_path / "leader.key", paillier_keys[2048][0].private, None)
    return Workplace(tmp_path, capsys)


@pytest.fixture(scope="module")
def made_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tests of one file keep what they begin with."""
    return tmp_path_factory.mktemp("made")


@pytest.fixture
def begin_with(workplace: Workplace, made_before: Path) -> Callable[[Callable[[], None]], None]:
    """begin_with(make): the workplace as `make` leaves it, which is called by the first test of a file alone."""

    def begin(make: Callable[[], None]) -> None:
        kept = made_before / make.__qualname__
        if kept.exists():
            shutil.rmtree(workplace.folder)
            shutil.copytree(kept, workplace.folder, symlinks=True)
        else:
            make()
            shutil.copytree(workplace.folder, kept, symlinks=True)

    return begin


@pytest.fixture
def five(workplace: Workplace) -> Workplace:
    """Five parties, so a committee of five where four open, three rounds, every sum compared with the sum of floats."""
    workplace.edit("job.toml", '"south"', '"south", "west", "middle"')
    workplace.edit("job.toml", "rounds = 2", "rounds = 3")
    workplace.edit("job.toml", r"\[protection\]", "[checks]\nexactness = true\n\n[protection]")
    workplace.edit("site.toml", r"\[policy\]", "[policy]\nexactness_check = true")
    for seed, party in enumerate(("west", "middle"), 3):
        write_table(workplace.folder / f"{party}.csv", seed)
        with (workplace.folder / "site.toml").open("a") as file:
            file.write(f'\n[party.{party}.data.visits]\nsource = "csv"\npath = "{party}.csv"\nlabel = "ill"\n')
    return workplace
