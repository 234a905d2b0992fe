"""`hekat init` of vertical and psi jobs: files that parse, say true defaults, and run on tables of one's own."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from hekat.cli.main import main
from hekat.job.load_any_job import roles_of
from hekat.job.psi.job_file import load_intersection_job
from hekat.job.section import Section
from hekat.job.site_file import load_site
from hekat.job.vertical_linear.job_file import load_vertical_job

_SETTING = re.compile(r"^#(?=(?:[A-Za-z0-9_-]+|\"[^\"]+\") = )", re.MULTILINE)
_DEFAULT = re.compile(_SETTING.pattern + r"(?!.* # no default; )", re.MULTILINE)
VARIANTS = {
    "two parties": ("vertical_linear",),
    "an arbiter": ("vertical_linear", "--hosts", "b,c", "--arbiter", "judge"),
    "three parties in shares": ("vertical_linear", "--hosts", "b,c"),
    "a regression": ("vertical_linear", "--model", "linear"),
    "psi": ("psi", "--hosts", "b,c"),
}


def init(folder: Path, *options: str) -> int:
    try:
        return main(["init", str(folder), "--protocol", *options])
    except SystemExit as stop:  # argparse
        return int(stop.code or 0)


def load(folder: Path):
    job = folder / "job.toml"
    is_psi = 'protocol = "psi"' in job.read_text()
    return load_intersection_job(job) if is_psi else load_vertical_job(job)


@pytest.fixture(params=list(VARIANTS))
def variant(tmp_path, request) -> Path:
    assert init(tmp_path, *VARIANTS[request.param]) == 0
    return tmp_path


def test_every_role_has_a_place_for_what_outlasts_a_run(variant, capsys) -> None:
    """Approvals, and counts of predictions: as the tutorials say of `hekat init`."""
    site = load_site(variant / "site.toml")
    assert {name: party.state for name, party in site.parties.items()} == {
        name: variant.resolve() / "state" / name for name in roles_of(load(variant))
    }
    capsys.readouterr()
    assert main(["job", "approve", str(variant / "job.toml"), "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["approved"].values()) == {True}


def test_defaults_that_are_uncommented_change_nothing(variant) -> None:
    job, site = load(variant), load_site(variant / "site.toml")
    for name in ("job.toml", "site.toml"):
        text = (variant / name).read_text()
        assert _DEFAULT.sub("", text) != text
        (variant / name).write_text(_DEFAULT.sub("", text))
    again = load(variant)
    if hasattr(job, "prediction"):
        # What follows the form, where it is not said, is the same once it is.
        assert again.settings.training.limit_spreads == job.settings.limit_spreads
        assert again.settings.training.calibration_rows == job.settings.calibration_rows
        said = job.settings.training
        assert again.settings.reweights == job.settings.reweights
        assert again.settings.training.stops_when_settled == said.stops_when_settled
        unsaid = replace(
            again.settings.training,
            limit_spreads=said.limit_spreads,
            calibration_rows=said.calibration_rows,
            reweight=said.reweight,
            stop_when_settled=said.stop_when_settled,
        )
        assert replace(again.settings, training=unsaid) == job.settings
        kept = ("intersection", "prediction", "timeout_s", "compare_centralised", "check_exactness", "sparse")
        assert [getattr(again, name) for name in kept] == [getattr(job, name) for name in kept]
    else:
        assert again.settings.learners == job.settings.learners
        assert (again.settings.kind, again.timeout_s) == (job.settings.kind, job.timeout_s)
    assert load_site(variant / "site.toml").policy == site.policy


def test_every_setting_that_is_read_is_written(variant, monkeypatch) -> None:
    asked: set[tuple[str, str]] = set()
    take = Section.take

    def noting(self, key, kind, default=None):
        asked.add((self.place, key))
        return take(self, key, kind, default)

    def noting_optional(self, key, kind):
        asked.add((self.place, key))
        return take(self, key, kind) if key in self._values else None

    monkeypatch.setattr(Section, "take", noting)
    monkeypatch.setattr(Section, "take_optional", noting_optional)
    load(variant)
    monkeypatch.undo()
    written: set[tuple[str, str]] = set()

    def walk(place: str, values: dict[str, object]) -> None:
        for key, value in values.items():
            written.add((place, key))
            if isinstance(value, dict):
                walk(f"{place}.{key}" if place else key, value)

    walk("", tomllib.loads(_SETTING.sub("", (variant / "job.toml").read_text())))
    assert len(asked) > 8
    assert sorted(asked - written) == []


def write_tables(folder: Path, parties: tuple[str, ...], *, is_regression: bool) -> None:
    (folder / "data").mkdir()
    for place, party in enumerate(parties):
        label = "label" if place == 0 else ""
        lines = [",".join(["id", f"{party}_x", f"{party}_y", *([label] if label else [])])]
        for row in range(80):
            found = [f"p{row}", str((row * 7 + place) % 11), str(row % 5 + 0.5 * place)]
            lines.append(
                ",".join([*found, *([str(row) if is_regression else ["no", "yes"][row % 2]] if label else [])])
            )
        (folder / "data" / f"{party}.csv").write_text("\n".join(lines) + "\n")


@pytest.mark.quick_cases("an arbiter", "psi")
@pytest.mark.parametrize("name", list(VARIANTS))
def test_a_written_job_passes_a_dry_run_once_data_lies_there(tmp_path, name, capsys) -> None:
    folder = tmp_path / "trial"
    assert init(folder, *VARIANTS[name], "--guest", "a", "--name", "trial") == 0
    assert f"next        say in site.toml where rows lie, then: hekat run {folder}" in capsys.readouterr().out
    job = load(folder)
    assert job.name == "trial"
    assert main(["run", str(folder / "job.toml"), "--dry-run"]) == 2
    assert "data/a.csv" in capsys.readouterr().err
    write_tables(folder, job.settings.parties, is_regression=name == "a regression")
    assert main(["run", str(folder / "job.toml"), "--dry-run"]) == 0
    assert "every check passed" in capsys.readouterr().out


def test_choices_stand_in_the_files(tmp_path) -> None:
    options = ("vertical_linear", "--guest", "bank", "--hosts", "shop", "--id", "client", "--label", "failed")
    assert init(tmp_path, *options, "--classes", "good,bad,ugly") == 0
    job, site = load(tmp_path), load_site(tmp_path / "site.toml")
    assert (job.settings.parties, job.settings.form, job.settings.classes) == (
        ("bank", "shop"),
        "shared_weights",
        ("good", "bad", "ugly"),
    )
    assert site.parties["bank"].data["rows"].options == {"path": "data/bank.csv", "id": "client", "label": "failed"}
    assert site.parties["shop"].data["rows"].options == {"path": "data/shop.csv", "id": "client"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("vertical_linear", "--model", "mlp"), "logistic or linear"),
        (("vertical_linear", "--model", "linear", "--classes", "a,b"), "none with --model linear"),
        (("vertical_linear", "--classes", "a"), "two different classes"),
        (("vertical_linear", "--guest", "x", "--hosts", "x"), "a different name for each"),
        (("vertical_linear", "--guest", "../x"), "a party's name cannot be used"),
        (("vertical_linear", "--aggregator", "hub"), "--aggregator has no use"),
        (("vertical_linear", "--example"), "--example is for horizontal jobs"),
        (("vertical_linear", "--data", "npz"), "--data npz is for horizontal jobs"),
        (("psi", "--label", "ill"), "--label has no use for a job of protocol 'psi'"),
        (("psi", "--protection", "lattice"), "--protection has no use"),
        (("horizontal", "--guest", "a"), "--guest has no use for a job of protocol 'horizontal'"),
        (("boosting",), "invalid choice"),
    ],
)
def test_choices_that_cannot_be_write_nothing(tmp_path, options, told, capsys) -> None:
    folder = tmp_path / "new"
    assert init(folder, *options) == 2
    assert told in capsys.readouterr().err
    assert not folder.exists()


def test_an_id_may_have_several_columns(tmp_path) -> None:
    assert init(tmp_path, "psi", "--id", "name,born") == 0
    parties = load_site(tmp_path / "site.toml").parties
    assert [party.data["rows"].options["id"] for party in parties.values()] == [("name", "born")] * 2


def test_nothing_is_written_over_and_json_says_what_was(tmp_path, capsys) -> None:
    assert init(tmp_path, "psi", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert [Path(path).name for path in told["written"]] == ["job.toml", "site.toml"]
    assert init(tmp_path, "psi") == 2
    assert "already there" in capsys.readouterr().err


def test_an_arbiter_called_none_is_refused_since_nobody_means_one(tmp_path, capsys) -> None:
    assert init(tmp_path / "new", "vertical_linear", "--arbiter", "none") == 2
    assert "cure: leave out --arbiter" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
