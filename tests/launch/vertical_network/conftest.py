"""A clinic and a laboratory with their own tables of the same patients, of scikit-learn's breast cancer data."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from hekat.errors import PartyStoppedError
from hekat.launch.vertical_network.run import run_network_job
from hekat.run.vertical_network.load_inputs import NetworkInputs, load_network_inputs

WAIVER = "[column_leak]\naccepted = 'the guest may learn my columns but for a rotation'\n"
POLICY = "[policy]\nprotections = ['lattice', 'none']\ncolumn_leak_waiver = true\njoined_rows = true\n"
SMALL = "[training]\nepochs = 3\nbatch_rows = 64\nlearning_rate = 0.02\n"
NETWORK = "[network]\nunits = 6\nguest_width = 4\nhost_width = 5\n"


@dataclass
class Clinics:
    """A folder with everything that a job needs; parts of it can be written anew."""

    folder: Path
    names: tuple[str, ...] = ("clinic", "laboratory")

    @property
    def job(self) -> Path:
        return self.folder / "job.toml"

    def write_tables(self, rows: int = 160) -> None:
        """Two columns of the clinic's, one of texts, and six of the laboratory's; rows in another order each."""
        data = load_breast_cancer()
        values, is_benign = data.data[:rows], data.target[:rows]
        rng = np.random.default_rng(1)
        texts = np.array(["low", "middle", "high"])[np.digitize(values[:, 1], [17, 21])]
        radius = [f"{value:.3f}" for value in values[:, 0]]
        own = {
            "clinic": (["texture", "radius", "label"], [texts, radius, np.where(is_benign, "benign", "malignant")]),
            "laboratory": ([f"m{number}" for number in range(6)], [values[:, 20 + number] for number in range(6)]),
        }
        for name, (header, columns) in own.items():
            with (self.folder / f"{name}.csv").open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(["patient", *header])
                writer.writerows([f"p{row}", *(column[row] for column in columns)] for row in rng.permutation(rows))

    def write_site(self, policy: str = POLICY, party: Mapping[str, str] | None = None) -> Path:
        """`party` has by party more lines of its own section."""
        lines = ["format = 1", policy]
        for name in self.names:
            if party and name in party:
                lines.append(f"[party.{name}]\n{party[name]}")
            lines.append(f"[party.{name}.data.patients]\nsource = 'csv'\npath = '{name}.csv'\nid = 'patient'")
            lines.append("label = 'label'" if name == "clinic" else "")
        path = self.folder / "site.toml"
        path.write_text("\n".join(lines) + "\n")
        return path

    def write_job(
        self, sections: str = "", *, training: str = SMALL, network: str = NETWORK, waiver: str = WAIVER
    ) -> Path:
        """A job of three epochs, in the clear unless `sections` have a [protection] of their own."""
        if "[protection]" not in sections:
            sections += "[protection]\nkind = 'none'\n"
        self.job.write_text(
            "format = 2\nname = 'tumours'\nprotocol = 'vertical_network'\nguest = 'clinic'\nhosts = ['laboratory']\n"
            "data = 'patients'\nclasses = ['malignant', 'benign']\n"
            f"{training}{network}{waiver}{sections}\n[columns.texture]\ncategories = 'found'\n"
        )
        return self.job

    def load_inputs(self) -> NetworkInputs:
        return load_network_inputs(self.job)

    def stop_in_epoch_2(self, root: Path) -> tuple[Path, PartyStoppedError]:
        """The folder of a run under `root` that the laboratory left as it ended epoch 2, and the error."""

        def leave(observer: Any, role: str, record: Any) -> None:
            if role == "laboratory" and record.epoch == 2:
                raise RuntimeError("power cut")

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("hekat.launch.vertical.run_observer.RunObserver.note_step", leave)
            with pytest.raises(PartyStoppedError) as stopped:
                run_network_job(self.load_inputs(), root)
        (folder,) = root.iterdir()
        return folder, stopped.value

    def check_goes_on(self, folder: Path, root: Path) -> dict[str, Any]:
        """Resume the run in `folder` twice, to the same losses of all three epochs; the summary of the first."""
        summaries = [
            run_network_job(self.load_inputs(), root / name, resume_from=folder).summary for name in ("one", "two")
        ]
        losses = [[one["loss"] for one in summary["epochs"]] for summary in summaries]
        assert losses[0] == losses[1]
        assert [one["epoch"] for one in summaries[0]["epochs"]] == [1, 2, 3]
        return dict(summaries[0])


@pytest.fixture
def clinics(tmp_path: Path) -> Clinics:
    (tmp_path / "job").mkdir()
    made = Clinics(tmp_path / "job")
    made.write_tables()
    made.write_site()
    made.write_job()
    return made
