"""`hekat run`, `predict`, `report` and `audit` of a vertical regression, as a user calls them."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import shutil
import stat
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from hekat.cli.main import main
from hekat.cli.run.progress import RunProgress
from hekat.report import load_summary
from hekat.wire.keyfile import save_private_key

JOB = """format = 2
name = "default of payment"
protocol = "vertical_linear"
guest = "bank"
hosts = ["insurer", "telco"]
arbiter = "notary"
data = "clients"
test_data = "new-clients"
classes = ["paid", "failed"]

[training]
epochs = 3
batch_rows = 70
learning_rate = 0.3

[protection]
key_bits = 2048
"""
COLUMNS = {"bank": ("income", "debt"), "insurer": ("claims",), "telco": ("calls", "months")}


@dataclass
class Place:
    """A folder with a vertical job, its site file and tables, and the command run in this process."""

    folder: Path

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    def edit(self, file: str, pattern: str, replacement: str) -> None:
        path = self.folder / file
        text, count = re.subn(pattern, replacement, path.read_text(), count=1, flags=re.MULTILINE)
        assert count == 1, f"{pattern} is not in {file}"
        path.write_text(text)

    def call(self, *arguments: object) -> tuple[int, str, str]:
        """(exit code, standard output, standard error)."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            try:
                code = main([str(argument) for argument in arguments])
            except SystemExit as stop:  # argparse
                code = int(stop.code or 0)
        return code, out.getvalue(), err.getvalue()

    def run(self, *options: object) -> tuple[int, str, str]:
        return self.call("run", self.folder / "job.toml", "--runs", self.runs, *options)

    def folders(self) -> list[Path]:
        return sorted(self.runs.iterdir()) if self.runs.exists() else []


def write_tables(folder: Path) -> None:
    """200 clients to train on and 30 others, none far from the rest; each party lacks some, in an order of its own."""
    rng = np.random.default_rng(7)
    values = rng.uniform(-1.7, 1.7, size=(230, 5))
    failed = values @ [1.5, -1.0, 0.8, 0.0, 0.5] + 0.8 * rng.normal(size=230) > 0
    names = [name for columns in COLUMNS.values() for name in columns]
    for start, stop, kind in ((0, 200, "clients"), (200, 230, "new-clients")):
        for party, columns in COLUMNS.items():
            rows = rng.permutation(np.arange(start, stop))[3:]
            lines = [",".join(["client", *columns, *(["outcome"] if party == "bank" else [])])]
            for row in rows:
                cells = [f"client-{row:03d}", *(f"{values[row, names.index(name)]:.5f}" for name in columns)]
                lines.append(",".join([*cells, *(["failed" if failed[row] else "paid"] if party == "bank" else [])]))
            (folder / f"{party}-{kind}.csv").write_text("\n".join(lines) + "\n")


def make_place(folder: Path, key) -> Place:
    write_tables(folder)
    (folder / "job.toml").write_text(JOB)
    source = '[party.{0}.data.{1}]\nsource = "csv"\npath = "{0}-{1}.csv"\nid = "client"\n'
    label = {"bank": 'label = "outcome"\n'}
    tables = "".join(
        source.format(party, kind) + label.get(party, "") for party in COLUMNS for kind in ("clients", "new-clients")
    )
    (folder / "site.toml").write_text(f'format = 1\n[party.notary]\npaillier_key = "notary.key"\n{tables}')
    save_private_key(folder / "notary.key", key, None)
    return Place(folder)


@pytest.fixture
def place(tmp_path, paillier_keys) -> Place:
    return make_place(tmp_path, paillier_keys[2048][0].private)


@pytest.fixture(scope="module")
def finished(tmp_path_factory, paillier_keys) -> tuple[Place, str]:
    """A run with an arbiter that was played once for the tests that only look at it; and what it said."""
    place = make_place(tmp_path_factory.mktemp("vertical"), paillier_keys[2048][0].private)
    code, out, err = place.run("--verbose")
    assert code == 0, err
    return place, out


def test_bytes_are_told_by_kind_of_step_and_not_by_epoch(finished) -> None:
    place, _ = finished
    by_role = load_summary(place.folders()[0])["bytes"]["by_role"]
    kinds = {kind for role in by_role.values() for kind in role["by_step"]}
    assert {"session", "gradient", "loss"} <= kinds, kinds
    assert not [kind for kind in kinds if any(letter.isdigit() for letter in kind)]


def test_a_run_tells_its_epochs_its_results_and_where_all_lies(finished) -> None:
    place, out = finished
    (folder,) = place.folders()
    assert re.search(r"bank: masking own ids: 256  \d", out)
    losses = [float(found) for found in re.findall(r"epoch \d, loss (\d\.\d+)", out)]
    assert len(losses) == 3
    assert losses == sorted(losses, reverse=True)
    assert "one logistic regression of five columns on" in " ".join(out.split())
    for name, path in (("run folder", folder), ("parts", folder / "parts"), ("ledgers", folder / "ledger")):
        assert f"{name:<11} {path}\n" in out
    assert f"report      {folder / 'report.html'}" in out
    assert sorted(path.name for path in (folder / "parts").iterdir()) == ["bank.npz", "insurer.npz", "telco.npz"]
    assert stat.S_IMODE((folder / "parts").stat().st_mode) == 0o700
    assert load_summary(folder)["protocol"] == "vertical_linear"


def test_an_audit_says_equations_over_rows(finished) -> None:
    place, _ = finished
    (folder,) = place.folders()
    code, out, _ = place.call("audit", folder)
    assert code == 0
    short = out[out.index("In short, as the roles noted it") :]
    rows = load_summary(folder)["intersection"]["common"]
    assert re.search(rf"telco learns its gradients: 6 linear equations over {rows} rows .*\[.*telco.*\]", short)
    assert "client-" not in out
    code, out, _ = place.call("audit", folder, "--party", "notary")
    assert "learned\n" in out
    learned = out[out.index("What notary learned") : out.index("What left notary")]
    assert re.search(r"ciphertext .*masked-gradient", learned)
    assert not re.search(r"disclosed .*(gradient|loss)", learned)


@pytest.mark.long
@pytest.mark.drawn
def test_a_report_is_drawn_anew(finished) -> None:
    place, _ = finished
    (folder,) = place.folders()
    (folder / "report.html").unlink()
    code, out, _ = place.call("report", folder)
    assert code == 0
    assert "Training, epoch by epoch" in out
    assert "What gradients tell of labels and columns" in (folder / "report.html").read_text()


def predict(place: Place, *options: object) -> tuple[int, str, str]:
    site = place.folder / "site.toml"
    return place.call("predict", place.folders()[0], "--site", site, "--source", "new-clients", *options)


def test_a_joint_prediction_is_written_for_the_guest(finished, tmp_path) -> None:
    place, _ = finished
    code, out, err = predict(place, "--output", tmp_path / "scores.csv")
    assert code == 0, err
    with (tmp_path / "scores.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["prediction"] for row in rows} == {"paid", "failed"}
    assert f"{len(rows)} rows are common to all" in out
    assert stat.S_IMODE((tmp_path / "scores.csv").stat().st_mode) == 0o600
    summary = load_summary(place.folders()[0])
    metrics = dict(re.findall(r"^  (\w+) (\d\.\d+)$", out, re.MULTILINE))
    assert float(metrics["auc"]) == pytest.approx(summary["results"][0]["metrics"]["auc"], abs=1e-5)
    audited = re.search(r"hekat audit (\S+)", out)
    assert audited is not None
    assert place.call("audit", audited[1])[0] == 0
    assert audited[1] in place.call("audit", place.folders()[0])[1]


def test_each_of_several_receivers_has_a_file_of_its_own(finished, tmp_path) -> None:
    place, _ = finished
    code, out, err = predict(place, "--out", tmp_path / "s.csv", "--receivers", "bank,telco", "--json")
    assert code == 0, err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s-bank.csv", "s-telco.csv"]
    told = json.loads(out)
    assert set(told["receivers"]) == {"bank", "telco"}
    assert told["receivers"]["telco"]["metrics"] == {}
    again = predict(place, "--out", tmp_path / "s.csv", "--receivers", "bank,telco")
    assert again[0] == 2
    assert "--force" in again[2]


def test_receivers_are_those_that_the_job_named(finished, tmp_path) -> None:
    place, _ = finished
    run = tmp_path / "run"
    shutil.copytree(place.folders()[0], run)
    summary = json.loads((run / "summary.json").read_text())
    assert summary["settings"]["receivers"] == ["bank"]
    summary["settings"]["receivers"] = ["telco"]
    (run / "summary.json").write_text(json.dumps(summary))
    site = place.folder / "site.toml"
    code, out, err = place.call("predict", run, "--site", site, "--source", "new-clients", "--json")
    assert code == 0, err
    assert set(json.loads(out)["receivers"]) == {"telco"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--source", "rows"), "a joint prediction needs every party's rows"),
        (("--site", "{site}", "--source", "rows"), "no data called 'rows'"),
        (("--site", "{site}", "--data", "x.csv"), "--data has no use for a job of protocol 'vertical_linear'"),
        (("--data", "x.csv"), "expected: hekat predict RUN --site FILE --source NAME without --data"),
        (("--site", "{site}", "--source", "new-clients", "--party", "bank"), "--party has no use"),
        (
            ("--site", "{site}", "--source", "new-clients", "--receivers", "mallory"),
            "receivers of a prediction refused",
        ),
        (("--site", "{site}", "--source", "new-clients", "--score-bits", "41"), "score_bits of a prediction refused"),
        (("--site", "{site}", "--source", "new-clients", "--score-bits", "13"), "scores this fine"),
    ],
)
def test_a_wrong_prediction_is_answered_with_code_2(finished, options, told) -> None:
    place, _ = finished
    site = str(place.folder / "site.toml")
    given = [option.replace("{site}", site) for option in options]
    code, _, err = place.call("predict", place.folders()[0], *given)
    assert code == 2
    assert told in err
    assert "cure: " in err


@pytest.mark.long
def test_a_dry_run_trains_nothing(place) -> None:
    code, out, err = place.run("--dry-run")
    assert code == 0, err
    assert re.search(r"telco +197 +2 +6", out)
    assert re.search(r"bank +197 +2 +9", out)
    assert re.search(r"all hosts together +9", out)
    assert "Scores are told to 2^-12; up to 27 test rows are predicted for, and the site lets 100,000 rows" in " ".join(
        out.split()
    )
    assert "every check passed; nothing was written or sent" in out
    told = json.loads(place.run("--dry-run", "--json")[1])
    assert (told["form"], told["protection"]) == ("arbiter", "paillier")
    assert [party["most_equations"] for party in told["parties"]] == [9, 3, 6]
    assert told["hosts_together"] == 9
    counts = {"rows_at_most": 27, "calibration_rows_at_most": 0, "max_predictions": 100_000}
    assert told["prediction"] == {"score_bits": 12, **counts}
    assert place.folders() == []


@pytest.mark.long
def test_a_run_starts_from_the_weights_of_another(finished, place) -> None:
    """The first is of the same columns, in a place of its own; a dry run makes the same checks."""
    (start,) = finished[0].folders()
    code, out, err = place.run("--dry-run", "--start-from", start)
    assert code == 0, err
    assert f"Training would begin with the weights of run {start.name}" in " ".join(out.split())
    assert json.loads(place.run("--dry-run", "--json", "--start-from", start)[1])["started_from"] == start.name
    assert place.folders() == []
    code, out, err = place.run("--start-from", start)
    assert code == 0, err
    assert f"Training began with the weights of run {start.name}" in " ".join(out.split())
    (folder,) = place.folders()
    summary, earlier = load_summary(folder), load_summary(start)
    assert summary["started_from"] == start.name
    assert summary["epochs"][0]["loss"] < earlier["epochs"][-1]["loss"]
    assert f"weights of run {start.name}" in (folder / "report.html").read_text()
    audit = " ".join(place.call("audit", folder, "--party", "telco")[1].split())
    assert f"starts from its part of run {start.name}" in audit


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_a_start_from_other_columns_is_answered_with_code_2(finished, place, options) -> None:
    place.edit("telco-clients.csv", "calls,months", "calls,years")
    place.edit("telco-new-clients.csv", "calls,months", "calls,years")
    code, _, err = place.run("--start-from", finished[0].folders()[0], *options)
    assert code == 2
    assert "a warm start from other columns at telco" in err
    assert "missing 'years'; unknown 'months'" in err
    assert "cure: leave out --start-from" in err
    assert place.folders() == []


@pytest.mark.long
def test_a_run_that_stopped_says_how_it_goes_on_and_does(place, monkeypatch) -> None:
    advance = RunProgress.advance

    def stop(self, phase: str, text: str) -> None:
        if text.startswith("epoch 2"):
            raise OSError("the terminal is gone")
        advance(self, phase, text)

    site = place.folder / "our site.toml"
    (place.folder / "site.toml").rename(site)
    with monkeypatch.context() as patch:
        patch.setattr(RunProgress, "advance", stop)
        code, _, err = place.run("--site", site)
    assert code == 2
    (folder,) = place.folders()
    (told,) = re.findall("go on from its last checkpoint with: hekat (.*)", err)
    assert shlex.split(told)[-2:] == ["--resume", str(folder)]
    # As it stands: the same site file, and a folder beside the first.
    code, out, err = place.call(*shlex.split(told), "--json")
    assert code == 0, err
    assert len(place.folders()) == 2
    summary = json.loads(out)
    assert [epoch["epoch"] for epoch in summary["epochs"]] == [1, 2, 3]
    assert any("goes on from epoch" in note for note in summary["notes"])


@pytest.mark.parametrize(
    ("file", "pattern", "replacement", "told"),
    [
        ("job.toml", 'arbiter = "notary"', "", "should they work together, could solve for rows"),
        ("job.toml", 'arbiter = "notary"', 'arbiter = "telco"', "a different name for each"),
        ("job.toml", "batch_rows = 70", "batch_rows = 5", "would tell labels"),
        ("job.toml", "batch_rows", "batch_size", "did you mean batch_rows"),
        ("job.toml", 'data = "clients"', 'data = "people"', "no data called 'people'"),
        ("site.toml", 'label = "outcome"', "", "label"),
        ("site.toml", 'path = "telco-clients.csv"', 'path = "bank-clients.csv"', "outcome"),
        ("insurer-clients.csv", r"^(client-\d+),.*", r"\1,", "line"),
    ],
)
def test_bad_input_is_answered_with_code_2_and_no_run(place, file, pattern, replacement, told) -> None:
    place.edit(file, pattern, replacement)
    code, _, err = place.run()
    assert code == 2
    assert told in err
    assert "cure: " in err
    assert "client-0" not in err
    assert place.folders() == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--lose", "telco:1"), "--lose has no use"),
        (("--dry-run", "--bandwidth", "10"), "--bandwidth has no use"),
        (("--dry-run", "--resume", "runs/x"), "begins nothing, so it resumes nothing"),
        (("--resume", "runs/x"), "nothing to resume"),
        (("--start-from", "runs/x"), "there is no finished run in runs/x"),
        (("--dry-run", "--start-from", "runs/x"), "there is no finished run in runs/x"),
        (("--resume", "runs/x", "--start-from", "runs/x"), "expected: --start-from or --resume"),
    ],
)
def test_options_without_use_are_refused(place, options, told) -> None:
    code, _, err = place.run(*options)
    assert code == 2
    assert told in err
    assert place.folders() == []
