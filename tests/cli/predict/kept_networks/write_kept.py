"""Writes stored parts of split networks and of encrypted models, from the root: `python -m
tests.cli.predict.kept_networks.write_kept`.

Run it when a new format of one of these files appears. It makes the folders that are not there yet, and never touches
one that is: every release has to go on reading what an earlier one wrote, or to say why it does not.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tests.cli.predict import test_hostile_network_parts
from tests.cli.predict.kept_trees.test_kept_trees import numbers_in
from tests.cli.predict.test_hostile_sealed_parts import SEALED_JOB
from tests.launch.encrypted_model.conftest import clinics_in

from hekat.cli.main import main
from hekat.launch.encrypted_model.run import run_encrypted_model_job
from hekat.run.encrypted_model.kept_part import KEPT_FORMAT
from hekat.run.predictions import KEPT_FOLDER
from hekat.run.vertical_network.part_file import NETWORK_FORMAT

HERE = Path(__file__).resolve().parent
NETWORK = HERE / f"network.part-{NETWORK_FORMAT.newest}"
SEALED = HERE / f"sealed.part-{NETWORK_FORMAT.newest}"
SEALED_ERROR = 2.0**-12
"""Of a sealed network's probability: pads of a prediction's own move a score by up to two units of 2^-12."""
ENCRYPTED = HERE / f"encrypted.part-{KEPT_FORMAT.newest}"
_SITE = """format = 1
[party.north.data.new]
source = "csv"
path = "new.csv"
label = "sick"
"""


def ask_network(folder: Path, out: Path) -> int:
    """Have both parties of `folder` predict for their rows into `out`."""
    words = ["predict", folder / "run", "--site", folder / "site.toml", "--source", "clients", "--out", out]
    return main([str(word) for word in words])


def ask_encrypted(folder: Path, out: Path) -> int:
    """Have the roles of `folder` score a host's two rows into `out`."""
    words = ["predict", folder / "run", "--site", folder / "site.toml", "--source", "new", "--party", "north"]
    return main([str(word) for word in (*words, "--out", out)])


def write_network(place: Path, kept: Path = NETWORK, job: str = test_hostile_network_parts.JOB) -> None:
    """The parts that a training left, and what they predict together."""
    trained = test_hostile_network_parts.train(place, job)
    shutil.copytree(trained / "run" / "parts", kept / "run" / "parts")
    shutil.copy(trained / "run" / "summary.json", kept / "run")
    for name in ("site.toml", "bank.csv", "insurer.csv"):
        shutil.copy(trained / name, kept)
    assert ask_network(trained, kept / "answers.csv") == 0


def write_sealed(place: Path) -> None:
    """The same of a sealed network, with no answer near one half."""
    write_network(place, SEALED, SEALED_JOB)
    _, probabilities = numbers_in(SEALED / "answers.csv")
    assert min(abs(one - 0.5) for one in probabilities) > 2 * SEALED_ERROR, "remove the folder, and write it again"


def write_encrypted(place: Path) -> None:
    """What each role kept of a training, and the scores of two rows."""
    clinics = clinics_in(place / "clinics")
    run = run_encrypted_model_job(clinics.load_inputs(), place / "runs").folder
    shutil.copytree(run / KEPT_FOLDER, ENCRYPTED / "run" / KEPT_FOLDER)
    shutil.copy(run / "summary.json", ENCRYPTED / "run")
    (ENCRYPTED / "site.toml").write_text(_SITE)
    rows = (clinics.folder / "lab.csv").read_text().splitlines()[:3]
    (ENCRYPTED / "new.csv").write_text("\n".join(rows) + "\n")
    asked = Path(shutil.copytree(ENCRYPTED, place / "asked"))
    assert ask_encrypted(asked, ENCRYPTED / "answers.csv") == 0


if __name__ == "__main__":
    for folder, write in ((NETWORK, write_network), (SEALED, write_sealed), (ENCRYPTED, write_encrypted)):
        if not folder.exists():
            with tempfile.TemporaryDirectory() as place:
                write(Path(place))
