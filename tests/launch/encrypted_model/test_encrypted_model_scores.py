"""Joint scores by a model that nobody reads: as the owner's model gives them, so few in all as the site says."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.launch.encrypted_model.conftest import Clinics, Finished, clinics_in

from hekat.channel import PartyKey
from hekat.cli.main import main
from hekat.errors import InputError, PolicyError, StateError
from hekat.job.data_source import DataSource
from hekat.job.site_file import load_site
from hekat.launch.encrypted_model.predict import score_jointly
from hekat.launch.encrypted_model.run import run_encrypted_model_job
from hekat.launch.vertical.predict import PREDICTIONS_FOLDER, JointPredictions
from hekat.ledger.privacy.records import WAIVED
from hekat.protocol.encrypted_model.prediction.settings import usual_rows
from hekat.run.encrypted_model.kept_part import load_kept_part
from hekat.run.horizontal.predict import predict, rebuild_model
from hekat.run.horizontal.trained_model import MODEL_FILE, load_trained_model
from hekat.run.predictions import KEPT_FOLDER, Predictions
from hekat.run.vertical.prediction_count import COUNTS_FOLDER
from hekat.state import Counter

UNIT = 2.0**-12
COLUMNS = 5
MOST = usual_rows(COLUMNS)
NEW = 'source = "csv"\npath = "new.csv"\nlabel = "sick"\nid = "who"\n'


class Place:
    """A copy of a finished run and of its site, where hosts have new rows."""

    def __init__(self, finished, folder: Path) -> None:
        self.run, self.site = folder / "run", folder / "site.toml"
        shutil.copytree(finished.result.folder, self.run)
        self.clinics = Clinics(finished.clinics.folder)
        self.write_rows(MOST)
        self.write_site()

    def write_rows(self, count: int) -> None:
        lines = (self.clinics.folder / "lab.csv").read_text().splitlines()[: count + 1]
        rows = [f"{line},{'who' if not number else f'p{number}'}" for number, line in enumerate(lines)]
        (self.site.parent / "new.csv").write_text("\n".join(rows) + "\n")

    def write_site(self, policy: str = "", *, of_table: str = "", party: str = "") -> None:
        tables = "".join(f"[party.{host}.data.new]\n{NEW}{of_table}" for host in ("north", "lake"))
        self.site.write_text(f"format = 1\n[policy]\n{policy}{party}{tables}")

    def score(self, asker: str = "north", receiver: str | None = None) -> JointPredictions:
        return score_jointly(self.run, load_site(self.site), "new", asker, receiver)

    def owned(self) -> Predictions:
        """What the owner's model says of the same rows."""
        trained = load_trained_model(self.run)
        source = DataSource("csv", {"path": "new.csv", "label": "sick", "id": "who"})
        return predict(trained, rebuild_model(trained, None, None), source, self.site.parent)

    def command(self, *options: str) -> int:
        return main(["predict", str(self.run), *options])

    def counted(self, role: str) -> int:
        with Counter.open(self.run / COUNTS_FOLDER / role) as counter:
            return counter.next_value


@pytest.fixture
def place(finished, tmp_path) -> Place:
    return Place(finished, tmp_path)


def logits(probabilities) -> np.ndarray:
    return np.log(probabilities[:, 1]) - np.log(probabilities[:, 0])


@pytest.mark.parametrize("receiver", [None, "lake"])
def test_scores_are_those_of_the_owners_model(place, receiver) -> None:
    joint = place.score(receiver=receiver)
    owned = place.owned()
    (learned,) = joint.by_receiver
    found = joint.by_receiver[learned]
    assert (learned, joint.sizes, joint.common) == (receiver or "north", {"north": MOST}, MOST)
    assert np.abs(logits(found.probabilities) - logits(owned.probabilities)).max() <= 1.1 * UNIT
    assert found.classes == ("no", "yes")
    if receiver is None:
        assert found.metrics == pytest.approx(owned.metrics, abs=1e-3)
        assert found.to_csv().splitlines()[1].startswith(b"p1,")
    else:  # it is told scores, and neither whose they are nor labels
        assert (found.ids, found.metrics, found.notes) == (None, {}, ())
    assert main(["audit", str(joint.folder)]) == 0
    assert sorted(path.name for path in joint.folder.iterdir()) == ["ledger", "parties.json"]


@pytest.mark.parametrize(
    ("classes", "training"),
    [("", 'optimiser = "sgd"\n'), ('classes = ["no", "yes", "perhaps"]\n', "momentum = 0.5\n")],
    ids=["numbers without momentum", "three classes"],
)
def test_other_tasks_have_the_same_answers_too(tmp_path, classes, training) -> None:
    clinics = clinics_in(tmp_path / "clinics")
    clinics.write_tables(numbers=not classes)
    clinics.write_job(classes=classes, training=training, head="")
    place = Place(Finished(clinics, run_encrypted_model_job(clinics.load_inputs(), tmp_path / "runs")), tmp_path)
    found, owned = place.score().by_receiver["north"], place.owned()
    if classes:
        assert np.array_equal(found.answers, owned.answers)
        assert found.probabilities == pytest.approx(owned.probabilities, abs=2 * UNIT)
    else:
        # Scores are told in spreads of the label, which is below 4.
        assert found.answers == pytest.approx(owned.answers, abs=4 * UNIT)
        assert np.ptp(found.answers) > 0.1
    assert found.metrics.keys() == owned.metrics.keys()


def test_rows_are_counted_over_all_predictions_whoever_asks(place) -> None:
    place.write_rows(1)
    place.score()
    place.write_rows(MOST)
    with pytest.raises(PolicyError, match=r"the site of (hub|judge) does not allow so many") as refused:
        place.score("lake", "north")
    assert refused.value.expected == f"at most {MOST} rows in all: policy.max_predictions"
    assert len([*(place.run / PREDICTIONS_FOLDER).iterdir()]) == 1  # refused before any role is played
    place.write_rows(MOST - 1)
    place.score("lake")
    assert {role: place.counted(role) for role in ("north", "lake", "hub", "judge")} == {
        "north": 1,
        "lake": MOST - 1,
        "hub": MOST,
        "judge": MOST,
    }
    place.write_rows(1)
    with pytest.raises(PolicyError):
        place.score()


def test_where_the_site_names_a_folder_of_state_a_copy_of_the_run_has_no_new_count(place, tmp_path) -> None:
    party = ""
    for role in ("hub", "judge"):
        PartyKey.generate().save(tmp_path / f"{role}.key")
        (tmp_path / f"state-{role}").mkdir(mode=0o700)
        party += f'[party.{role}]\nparty_key = "{role}.key"\nstate = "state-{role}"\n'
    place.write_site(party=party)
    shutil.copytree(place.run, tmp_path / "copy")
    place.score()
    place.run = tmp_path / "copy"
    with pytest.raises(PolicyError, match="does not allow so many predictions") as refused:
        place.score("lake")
    assert "in the ledger of" in "".join(refused.value.__notes__)


def test_a_run_that_is_resumed_at_its_end_has_no_new_count(place) -> None:
    """Its model has the same weights under another name: holders of shares count by what they saw of the training."""
    for role, is_same in (("judge", True), ("hub", True), ("north", False)):
        part = load_kept_part(place.run, role)
        again = replace(part, model_id="another").counted
        assert (again == part.counted) is is_same, role


def test_a_site_may_let_the_receiver_learn_the_model_or_nobody_score(place) -> None:
    place.write_rows(COLUMNS + 4)
    with pytest.raises(PolicyError, match="max_predictions"):
        place.score()
    place.write_site("max_predictions = 9\n")
    assert place.score().common == COLUMNS + 4
    for limit in (0, 9):
        place.write_site(f"max_predictions = {limit}\n")
        with pytest.raises(PolicyError, match=f"at most {limit} rows in all"):
            place.score()


@pytest.mark.parametrize(
    ("policy", "of_table", "match"),
    [
        ('protocols = ["horizontal"]\n', "", "protocol"),
        ('protections = ["paillier"]\n', "", "does not allow protection 'lattice'"),
        ("max_score_bits = 8\n", "", "scores this fine"),
        ("", 'deny_columns = ["dose"]\n', "dose"),
    ],
)
def test_a_site_refuses_what_it_does_not_allow(place, policy, of_table, match) -> None:
    place.write_site(policy, of_table=of_table)
    with pytest.raises(PolicyError, match=match):
        place.score()
    assert not (place.run / COUNTS_FOLDER).exists()


def test_scores_by_a_model_of_rows_that_have_a_privacy_budget_take_its_waiver(place) -> None:
    """Also of a host that neither asks nor receives: scores tell of the model, and so of all rows it was trained on."""
    place.write_rows(1)
    lake = '[party.lake.privacy]\ndata_set = "patients"\nepsilon = 8.0\ndelta = 1e-6\n'
    place.write_site(party=lake)
    with pytest.raises(PolicyError, match="the rows of lake have a privacy budget, and this is without noise"):
        place.score()
    assert not (place.run / COUNTS_FOLDER).exists()
    place.write_site("budget_waiver = true\n", party=lake)
    folder = place.score(receiver="lake").folder
    ledgers = {path.stem: path.read_text() for path in (folder / "ledger").glob("*.jsonl")}
    assert [role for role, text in ledgers.items() if WAIVED in text] == ["lake"]


def test_nobody_but_hosts_asks_or_receives(place) -> None:
    for asker, receiver in (("lab", None), ("hub", None), ("north", "lab"), ("north", "judge"), ("../x", None)):
        with pytest.raises(InputError, match=r"prediction\.(asker|receiver)"):
            place.score(asker, receiver)


def test_rows_of_other_columns_are_refused(place) -> None:
    (place.site.parent / "new.csv").write_text("age,town,sick,who\n40,hill,no,p1\n")
    with pytest.raises(InputError, match="lacks columns of the model"):
        place.score()


def test_parts_of_another_run_or_role_are_refused(place, encrypted) -> None:
    kept, other = place.run / KEPT_FOLDER, encrypted.result.folder / KEPT_FOLDER
    own = (kept / "hub.npz").read_bytes()
    shutil.copy(other / "hub.npz", kept)
    with pytest.raises(StateError, match="not of one model"):
        place.score()
    shutil.copy(kept / "judge.npz", kept / "hub.npz")
    with pytest.raises(StateError, match="a part of another role"):
        place.score()
    (kept / "hub.npz").unlink()
    with pytest.raises(StateError, match="does not hold what hub keeps"):
        place.score()
    (kept / "hub.npz").write_bytes(own)
    assert place.score().common == MOST


def test_the_command_scores_together_where_no_model_lies_or_receivers_are_named(place, tmp_path, capsys) -> None:
    rows = ["--site", str(place.site), "--source", "new"]
    out = tmp_path / "scores.csv"
    # The owner's model predicts alone, and nothing is counted.
    assert place.command(*rows, "--party", "north") == 0
    assert not (place.run / COUNTS_FOLDER).exists()
    place.write_rows(1)
    assert place.command(*rows, "--receivers", "north", "--out", str(out)) == 0
    assert "1 rows of north were scored by a model that no role read" in capsys.readouterr().out
    assert out.read_text().startswith("id,prediction,probability_no,probability_yes\np1,")
    (place.run / MODEL_FILE).unlink()
    assert place.command(*rows, "--party", "lake", "--json") == 0
    assert '"lake": 1' in capsys.readouterr().out
    for refused in (
        ["--data", str(tmp_path / "new.csv")],
        ["--source", "new"],
        rows,
        [*rows, "--receivers", "north,lake"],
        [*rows, "--party", "north", "--score-bits", "20"],
    ):
        assert place.command(*refused) == 2
    assert place.counted("judge") == MOST
