"""`hekat predict`: every kind of rows, columns found by name, files written whole or not at all, refusals."""

from __future__ import annotations

import csv
import json
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.cli.predict.clinics_job import COLUMNS, JOB, job_in

from hekat.cli.main import main
from hekat.job.model_source import PartyModel
from hekat.model import make_model
from hekat.protocol.horizontal.training.standardise import Standardiser
from hekat.protocol.horizontal.training.training_state import TrainingState
from hekat.run.horizontal.trained_model import save_trained_model

MEAN, SPREAD = np.array([50.0, 2.0, 0.0, 0.0]), np.array([10.0, 1.0, 1.0, 1.0])
WEIGHT = np.array([[1.0], [-0.5], [0.25], [-0.75]])
BIAS = 0.125
# patient, age, dose (one is empty), ward, ill
ROWS = [("p1", 61.0, 1.0, "in", "yes"), ("p2", 44.0, None, "out", "no"), ("p3", 50.5, 5.0, "in", "yes")]


def probabilities() -> np.ndarray:
    """Of the second class, worked out by hand."""
    features = np.array(
        [[age, 2.0 if dose is None else dose, ward == "in", ward == "out"] for _, age, dose, ward, _ in ROWS]
    )
    return (1 / (1 + np.exp(-(((features - MEAN) / SPREAD) @ WEIGHT + BIAS))))[:, 0]


def cell(value: object) -> str:
    return "" if value is None else str(value)


def write_rows(path: Path, names: str = "patient,age,dose,ward,ill", separator: str = ",") -> Path:
    """ROWS with the columns of `names` in that order; a name that ROWS does not have holds texts."""
    held = dict(zip(("patient", "age", "dose", "ward", "ill"), zip(*ROWS, strict=True), strict=True))
    columns = [held.get(name, ("some", "free", "text")) for name in names.split(",")]
    lines = [names, *(",".join(cell(value) for value in row) for row in zip(*columns, strict=True))]
    path.write_text("\n".join(lines).replace(",", separator) + "\n")
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with model.npz in run/, and the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    state = TrainingState({"weight": WEIGHT, "bias": np.array([BIAS])}, {}, Standardiser(MEAN, SPREAD))
    save_trained_model(tmp_path / "run", job_in(tmp_path), state, COLUMNS, PartyModel(make_model("logistic", 4, 2)))
    return tmp_path


@pytest.fixture
def call(folder: Path, capsys: pytest.CaptureFixture[str]):
    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            code = main(["predict", "run", *map(str, arguments)])
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def check_written(path: Path, *, has_id: bool) -> None:
    rows = read(path)
    assert list(rows[0]) == [*(["id"] if has_id else []), "prediction", "probability_no", "probability_yes"]
    if has_id:
        assert [row["id"] for row in rows] == ["p1", "p2", "p3"]
    found = np.array([[float(row["probability_no"]), float(row["probability_yes"])] for row in rows])
    np.testing.assert_allclose(found[:, 1], probabilities(), rtol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    assert [row["prediction"] for row in rows] == ["yes" if p > 0.5 else "no" for p in probabilities()]


def test_rows_of_a_csv_file_with_ids_and_labels(call, folder: Path) -> None:
    write_rows(folder / "new.csv")
    code, out, err = call("--data", "new.csv", "--id", "patient", "--label", "ill", "--out", "answers.csv")
    assert (code, err) == (0, "")
    assert "3 rows predicted with model logistic" in out
    assert "accuracy" in out
    assert not any(text in out for text in ("p1", "61", "50.5"))
    check_written(folder / "answers.csv", has_id=True)
    assert stat.S_IMODE((folder / "answers.csv").stat().st_mode) == 0o600


def test_json_holds_counts_and_metrics_and_no_rows(call, folder: Path) -> None:
    write_rows(folder / "new.csv")
    code, out, _ = call("--data", "new.csv", "--id", "patient", "--label", "ill", "--json")
    found = json.loads(out)
    ill = np.array([row[4] == "yes" for row in ROWS])
    assert code == 0
    assert found["metrics"]["accuracy"] == pytest.approx(np.mean((probabilities() > 0.5) == ill))
    loss = -np.mean(np.log(np.where(ill, probabilities(), 1 - probabilities())))
    assert found["metrics"]["log_loss"] == pytest.approx(loss, rel=1e-12)
    assert sum(found["predicted"].values()) == found["rows"] == 3
    assert (found["out"], found["ignored_columns"]) == (None, [])
    assert "p1" not in out
    assert sorted(path.name for path in folder.iterdir()) == ["job.toml", "new.csv", "run"]


def test_columns_in_another_order_with_others_beside_them(call, folder: Path) -> None:
    write_rows(folder / "new.csv", "remark,ward,ill,age,note,dose")
    code, out, _ = call("--data", "new.csv", "--out", "answers.csv")
    assert code == 0
    assert "ignored: remark, ill, note" in out
    assert "accuracy" not in out, "the label column is not named, so nobody looks at it"
    check_written(folder / "answers.csv", has_id=False)


def test_ignored_columns_are_not_told_of(call, folder: Path) -> None:
    write_rows(folder / "new.csv", "remark,age,dose,ward,ill")
    _, out, _ = call("--data", "new.csv", "--ignore", "remark", "--ignore", "ill", "--json")
    assert json.loads(out)["ignored_columns"] == []


@pytest.mark.parametrize(
    ("name", "separator", "options"), [("new.tsv", "\t", []), ("new.csv", ";", ["semicolon"]), ("new.csv", ";", [";"])]
)
def test_other_separators(name: str, separator: str, options: list[str], call, folder: Path) -> None:
    write_rows(folder / name, separator=separator)
    extra = ["--separator", *options] if options else []
    assert call("--data", name, "--id", "patient", "--ignore", "ill", *extra, "--out", "answers.csv")[0] == 0
    check_written(folder / "answers.csv", has_id=True)


def test_how_a_file_is_written_is_seen_and_told(call, folder: Path) -> None:
    write_rows(folder / "new.csv", separator=";")
    (folder / "new.csv").write_text((folder / "new.csv").read_text().replace(".", ","))
    named = ["--id", "patient", "--label", "ill", "--out", "answers.csv"]
    code, out, err = call("--data", "new.csv", *named)
    assert (code, err) == (0, "")
    assert "; read with semicolons between cells, decimal commas" in out
    check_written(folder / "answers.csv", has_id=True)


@pytest.mark.parametrize(
    ("dates", "options"),
    [
        (["1970-03-03", "1970-02-14", "1970-02-20T12:00"], []),
        (["03.03.1970 00:00", "14.02.1970 00:00", "20.02.1970 12:00"], ["--date-format", "%d.%m.%Y %H:%M"]),
    ],
)
def test_columns_that_are_dates_become_days(dates: list[str], options: list[str], call, folder: Path) -> None:
    path = write_rows(folder / "new.csv")
    text = path.read_text()
    for (_, age, *_), date in zip(ROWS, dates, strict=True):
        text = text.replace(str(age), date)
    path.write_text(text)
    code, _, err = call("--data", "new.csv", "--id", "patient", "--label", "ill", "--out", "answers.csv")
    assert code == 2
    assert "dates" in err
    assert "--dates" in err
    arguments = ("--data", "new.csv", "--id", "patient", "--label", "ill", "--dates", "age", *options)
    assert call(*arguments, "--out", "answers.csv")[0] == 0
    check_written(folder / "answers.csv", has_id=True)


def test_what_the_command_says_of_a_file_is_not_guessed_over(call, folder: Path) -> None:
    write_rows(folder / "new.csv", separator=";")
    (folder / "new.csv").write_text((folder / "new.csv").read_text().replace(".", ","))
    code, _, err = call("--data", "new.csv", "--separator", "comma")
    assert code == 2
    assert "not separated by commas" in err
    assert "--separator, --decimal" in err.splitlines()[-1]
    code, _, err = call("--data", "new.csv", "--separator", ";")
    assert code == 2
    assert "a number with a decimal comma" in err
    named = ["--id", "patient", "--label", "ill", "--out", "answers.csv"]
    code, _, err = call("--data", "new.csv", "--separator", ";", "--decimal", ",", *named)
    assert (code, err) == (0, "")
    check_written(folder / "answers.csv", has_id=True)


def test_rows_of_a_parquet_file(call, folder: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="needs hekat[parquet]")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs hekat[parquet]")
    names = ("patient", "age", "dose", "ward", "ill")
    columns = dict(zip(names, zip(*ROWS, strict=True), strict=True)) | {"remark": ("a", "b", "c")}
    table = arrow.table({name: list(columns[name]) for name in ("remark", *reversed(names))})
    parquet.write_table(table, folder / "new.parquet")
    code, out, _ = call("--data", "new.parquet", "--id", "patient", "--label", "ill", "--out", "answers.csv")
    assert code == 0
    assert "ignored: remark" in out
    check_written(folder / "answers.csv", has_id=True)


def save_plain(folder: Path, columns: tuple[str, ...], weight: np.ndarray, classes: tuple[str, ...] | None) -> None:
    """A model without categories in run/, on `columns`; `classes` None makes it a regression."""
    text = JOB[: JOB.index("[columns")]
    if classes is None:
        text = text.replace('classes = ["no", "yes"]\n', "") + '[model]\nname = "linear"\n'
    state = TrainingState(
        {"weight": weight, "bias": np.zeros(1)}, {}, Standardiser(np.zeros(len(columns)), np.ones(len(columns)))
    )
    made = PartyModel(
        make_model("linear" if classes is None else "logistic", len(columns), None if classes is None else 2)
    )
    save_trained_model(folder / "run", job_in(folder, text), state, columns, made)


def test_rows_of_an_npz_file_by_their_names(call, folder: Path) -> None:
    save_plain(folder, ("a", "b"), np.array([[2.0], [0.0]]), ("no", "yes"))
    np.savez(
        folder / "new.npz", X=np.array([[9.0, 5.0, 1.0], [9.0, 5.0, -1.0]]), y=["yes", "no"], names=["x", "b", "a"]
    )
    code, out, _ = call("--data", "new.npz", "--json", "--out", "answers.csv")
    found = json.loads(out)
    assert code == 0
    assert found["ignored_columns"] == ["x"]
    assert found["metrics"]["accuracy"] == 1.0
    assert [row["prediction"] for row in read(folder / "answers.csv")] == ["yes", "no"]


def test_rows_of_a_libsvm_file(call, folder: Path) -> None:
    (folder / "new.libsvm").write_text("+1 2:3.5\n-1 1:1 2:-2\n")
    columns = ("column_1", "column_2", "column_3")
    save_plain(folder, columns, np.array([[0.0], [1.0], [0.0]]), ("no", "yes"))
    code, out, err = call("--data", "new.libsvm", "--json")
    assert code == 0, err
    assert json.loads(out)["metrics"]["accuracy"] == 1.0


def test_a_regression_writes_numbers(call, folder: Path) -> None:
    save_plain(folder, ("a", "b"), np.array([[2.0], [-1.0]]), None)
    (folder / "new.csv").write_text("b,a,y\n1,3,5.5\n0.5,0.25,0\n")
    code, out, _ = call("--data", "new.csv", "--label", "y", "--out", "answers.csv", "--json")
    assert code == 0
    assert read(folder / "answers.csv") == [{"prediction": "5.0"}, {"prediction": "0.0"}]
    assert json.loads(out)["metrics"]["rmse"] == pytest.approx(np.sqrt(0.125))


SITE = """format = 1
[party.alpha.data.patients]
source = "csv"
path = "patients.csv"
label = "ill"
id = "patient"
[common_data.later]
source = "csv"
path = "later.csv"
ignore = ["ill", "patient"]
"""


def test_rows_that_a_site_file_names(call, folder: Path) -> None:
    (folder / "site").mkdir()
    (folder / "site" / "site.toml").write_text(SITE)
    write_rows(folder / "site" / "patients.csv")
    write_rows(folder / "site" / "later.csv")
    site = ("--site", "site/site.toml")
    code, out, _ = call(*site, "--party", "alpha", "--source", "patients", "--out", "answers.csv", "--json")
    assert code == 0
    assert "accuracy" in json.loads(out)["metrics"]
    check_written(folder / "answers.csv", has_id=True)
    code, out, _ = call(*site, "--source", "later", "--json")
    assert (code, json.loads(out)["metrics"]) == (0, {})


def test_rows_with_ids_in_several_columns(call, folder: Path) -> None:
    (folder / "site.toml").write_text(SITE.replace('id = "patient"', 'id = ["patient", "visit"]'))
    write_rows(folder / "patients.csv", "patient,visit,age,dose,ward,ill")
    code, _, err = call(
        "--site", "site.toml", "--party", "alpha", "--source", "patients", "--out", "answers.csv", "--json"
    )
    assert (code, err) == (0, "")
    rows = read(folder / "answers.csv")
    assert list(rows[0]) == ["patient", "visit", "prediction", "probability_no", "probability_yes"]
    assert [(row["patient"], row["visit"]) for row in rows] == [("p1", "some"), ("p2", "free"), ("p3", "text")]


def test_a_file_is_replaced_only_when_asked(call, folder: Path) -> None:
    write_rows(folder / "new.csv")
    (folder / "answers.csv").write_text("mine")
    (folder / "answers.csv").chmod(0o644)
    arguments = ("--data", "new.csv", "--id", "patient", "--out", "answers.csv")
    code, _, err = call(*arguments)
    assert code == 2
    assert "already there" in err
    assert "--force" in err
    assert (folder / "answers.csv").read_text() == "mine"
    assert call(*arguments, "--force")[0] == 0
    check_written(folder / "answers.csv", has_id=True)
    assert stat.S_IMODE((folder / "answers.csv").stat().st_mode) == 0o600


REFUSED = {
    "missing columns": ("patient,age,ill", [], ["lacks columns of the model", "without 'dose', 'ward'"]),
    "a column of the model as label": ("age,dose,ward", ["--label", "age"], ["lacks columns", "without 'age'"]),
    "another category": ("age,dose,ward", [], ["vocabulary mismatch in column 'ward'"]),
    "no such label": ("age,dose,ward", ["--label", "illness"], ["no column 'illness'"]),
    "another class": ("age,dose,ward,remark", ["--label", "remark"], ["label that is none of the classes"]),
    "party without site": ("age,dose,ward", ["--party", "alpha"], ["name entries of a site file"]),
    "no such site": ("age,dose,ward", ["--site", "none.toml"], ["site file not found"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_write_nothing_and_show_no_value(name: str, call, folder: Path) -> None:
    header, options, says = REFUSED[name]
    path = write_rows(folder / "new.csv", header)
    if name == "another category":
        path.write_text(path.read_text().replace("out", "hidden"))
    code, out, err = call("--data", "new.csv", *options, "--out", "answers.csv")
    assert code == 2, out
    for text in says:
        assert text in err
    assert not any(value in err for value in ("61", "50.5", "free", "p1", "hidden"))
    assert sorted(one.name for one in folder.iterdir()) == ["job.toml", "new.csv", "run"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--data", "new.docx"], "ending that says nothing"),
        (["--data", "none.csv"], "is not there"),
        (["--source", "patients"], "no site file"),
        (["--site", "site.toml", "--source", "patients"], "no data called 'patients' for all parties"),
        (["--site", "site.toml", "--source", "patients", "--party", "beta"], "knows no party 'beta'"),
        (["--site", "site.toml", "--source", "later", "--label", "ill"], "--data FILE beside them"),
        (["--data", "new.npz", "--label", "ill"], "name columns of a table"),
        (["--data", "new.csv", "--date-format", "%Y"], "--dates COLUMN beside it"),
        (["--site", "site.toml", "--source", "later", "--dates", "seen"], "--data FILE beside them"),
        (["--data", "new.parquet", "--separator", "tab"], "--separator and --decimal belong to .csv files"),
        ([], "one of the arguments --data --source is required"),
    ],
)
def test_commands_that_say_too_little_or_too_much(arguments: list[str], says: str, call, folder: Path) -> None:
    (folder / "site.toml").write_text(SITE)
    code, _, err = call(*arguments)
    assert code == 2
    assert says in err


def test_a_folder_without_a_model(call, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "run" / "model.npz").unlink()
    write_rows(folder / "new.csv")
    code, _, err = call("--data", "new.csv")
    assert code == 2
    assert "run holds no trained model" in err
    assert "--resume" in err


NET = "from torch import nn\n\n\ndef build(column_count):\n    return nn.Linear(column_count, 2)\n"


def test_a_torch_model_needs_the_code_it_was_trained_with(call, folder: Path) -> None:
    pytest.importorskip("torch", reason="needs hekat[torch]")
    pytest.importorskip("safetensors", reason="needs hekat[torch]")
    from hekat.job.model_source import ModelSource, load_own_model

    (folder / "net.py").write_text(NET)
    made = load_own_model("own", ModelSource("net:build"), folder, column_count=2, class_count=2)
    job = job_in(folder, JOB[: JOB.index("[columns")] + '[model]\nname = "own"\n')
    standardiser = Standardiser(np.zeros(2), np.ones(2))
    parameters = {"weight": np.array([[0.0, 0.0], [1.0, 0.0]]), "bias": np.zeros(2)}
    state = replace(TrainingState({}, {}, standardiser), parameters=parameters)
    save_trained_model(folder / "run", job, state, ("a", "b"), made)
    (folder / "new.csv").write_text("b,a\n0,1\n0,-1\n")
    code, _, err = call("--data", "new.csv")
    assert code == 2
    assert "add --site" in err
    (folder / "site.toml").write_text('format = 1\n[party.alpha.model.own]\nfunction = "net:build"\n')
    code, _, err = call("--data", "new.csv", "--site", "site.toml")
    assert code == 2
    assert "no such model" in err
    own = ("--data", "new.csv", "--site", "site.toml", "--party", "alpha", "--out", "answers.csv")
    assert call(*own)[0] == 0
    assert [row["prediction"] for row in read(folder / "answers.csv")] == ["yes", "no"]
    (folder / "net.py").write_text(NET + "\n")
    code, _, err = call(*own, "--force")
    assert code == 2
    assert "is not the code it was trained with" in err
