"""Tables with gaps and texts: refused once with the lines to write, which the run and `hekat predict` then go by."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hekat.job.agreed_terms import terms_of
from hekat.job.horizontal.job_file import load_job
from hekat.model import make_model
from hekat.run.horizontal.training_state_file import CHECKPOINT_FILE, load_state

PARTIES = ("north", "east", "south")
FEATURES = ("job=clerk", "job=nurse", "job=missing", "age", "dose", "days")


def make_gaps(place) -> np.ndarray:
    """A column of texts, and empty cells in every table; the pooled cells of "dose" that are not empty."""
    kept = []
    for seed, party in enumerate(PARTIES):
        rng = np.random.default_rng(seed)
        path = place.folder / f"{party}.csv"
        header, *lines = path.read_text().splitlines()
        rows = []
        for number, line in enumerate(lines):
            age, dose, *others = line.split(",")
            dose = ("", "NA", "unknown")[number % 3] if number < 6 and party != "south" else dose
            kept += [float(dose)] if dose not in ("", "NA", "unknown") else []
            rows.append(",".join([rng.choice(["nurse", "clerk", "?"]), age, dose, *others]))
        path.write_text("\n".join([f"job,{header}", *rows]) + "\n")
    return np.array(kept)


def paste(place, error: str) -> None:
    """Put the lines that a refusal shows into the job, as they stand."""
    job = place.folder / "job.toml"
    job.write_text(job.read_text() + "\n" + error[error.index("\n[columns.") :])


@pytest.fixture
def described(workplace):
    """A job with the lines that its first refusal showed, and the pooled cells of "dose"."""
    kept = make_gaps(workplace)
    answer = workplace.run("--dry-run")
    assert answer.code == 2
    assert "3 tables: 2 columns have empty cells or texts" in answer.err
    assert not workplace.folders()
    paste(workplace, answer.err)
    return workplace, kept


@pytest.mark.long
def test_one_edit_makes_the_run_go_and_rows_to_predict_for_are_filled_alike(described) -> None:
    place, kept = described
    place.shorten()
    place.edit("job.toml", 'missing = "category"', 'missing = "category"\nunknown = "most_frequent"')
    answer = place.run()
    assert answer.code == 0, answer.err
    folder = place.folders()[-1]
    by_step = json.loads((folder / "summary.json").read_text())["bytes"]["by_role"]["north"]["by_step"]
    assert by_step["fill"]["up"] > 0, "sums of fills are told apart from those that begin a session"
    with np.load(folder / "model.npz") as model:
        fill = model["standardiser/fill"]
    median = np.sort(kept)[(kept.size - 1) // 2]
    np.testing.assert_allclose(fill[4], median, rtol=2.0**-29)
    assert fill[[2, 3, 5]].tolist() == [0.0] * 3
    texts = "".join((place.folder / f"{party}.csv").read_text() for party in PARTIES)
    usual = max(("clerk", "nurse"), key=texts.count)
    assert fill[:2].tolist() == [usual == "clerk", usual == "nurse"]
    job = load_job(place.folder / "job.toml")
    saved = load_state(folder / CHECKPOINT_FILE, job, len(FEATURES), make_model("logistic", len(FEATURES), 2))
    np.testing.assert_array_equal(saved.standardiser.fill, fill)

    (place.folder / "gaps.csv").write_text("days,job,dose,age\n1,nurse,NA,0.5\n2,,,0.25\n3,pilot,1,1\n")
    (place.folder / "full.csv").write_text(
        f"days,job,dose,age\n1,nurse,{float(fill[4])!r},0.5\n2,,{float(fill[4])!r},0.25\n3,{usual},1,1\n"
    )
    for name in ("gaps", "full"):
        answer = place.call("predict", folder, "--data", place.folder / f"{name}.csv", "--out", place.folder / name)
        assert answer.code == 0, answer.err
        told = "1 rows of column 'job' hold none of its categories and count as the most frequent one" in answer.out
        assert told == (name == "gaps")
        assert ("2 empty cells of column 'dose' filled as the job says" in answer.out) == told
    assert (place.folder / "gaps").read_text() == (place.folder / "full").read_text()


def test_what_a_site_agrees_to_names_the_sums_of_fills(described) -> None:
    place, _ = described
    terms = dict(terms_of(load_job(place.folder / "job.toml")))
    assert "histograms around the median of columns with empty cells" in terms["opened sums"]
    assert terms["columns described"] == "job, dose"
