"""`hekat init`: files that parse, that name every setting with its true default, and an example that works at once."""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from hekat.cli.main import main
from hekat.job.horizontal.job_file import load_job
from hekat.job.new.new_job import DATA_KINDS, MODELS, PROTECTIONS
from hekat.job.section import Section
from hekat.job.site_file import Site, load_site

_SETTING = re.compile(r"^#(?=(?:[A-Za-z0-9_-]+|\"[^\"]+\") = )", re.MULTILINE)
_DEFAULT = re.compile(_SETTING.pattern + r"(?!.* # no default; )", re.MULTILINE)
VARIANTS = [
    *itertools.product(MODELS, ("csv",), PROTECTIONS),
    *(("logistic", kind, "lattice") for kind in DATA_KINDS if kind != "csv"),
]


def init(folder: Path, *options: str) -> int:
    try:
        return main(["init", str(folder), *options])
    except SystemExit as stop:  # argparse
        return int(stop.code or 0)


def uncomment(path: Path, pattern: re.Pattern[str]) -> str:
    return pattern.sub("", path.read_text())


@pytest.fixture
def variant(tmp_path, request):
    model, data, protection = request.param
    assert init(tmp_path, "--model", model, "--data", data, "--protection", protection) == 0
    return tmp_path


all_variants = pytest.mark.parametrize("variant", VARIANTS, indirect=True, ids="-".join)


def same_apart_from_said_defaults(said: Site, site: Site) -> bool:
    """A data source keeps what a file says of its options: what is at its default is said in one and not in the other.

    `read_and_note` holds the values themselves against the defaults.
    """
    for party, held in site.parties.items():
        options = said.parties[party].data["rows"].options
        if not held.data["rows"].options.items() <= options.items():
            return False
    data = {name: replace(held, data={}) for name, held in site.parties.items()}
    said_data = {name: replace(held, data={}) for name, held in said.parties.items()}
    return replace(said, parties=said_data) == replace(site, parties=data)


@all_variants
def test_every_party_has_a_place_for_its_approvals(variant) -> None:
    parties = load_site(variant / "site.toml").parties
    assert parties
    assert {name: party.state for name, party in parties.items()} == {
        name: variant.resolve() / "state" / name for name in parties
    }


@all_variants
def test_defaults_that_are_uncommented_change_nothing(variant) -> None:
    job, site = load_job(variant / "job.toml"), load_site(variant / "site.toml")
    text = uncomment(variant / "job.toml", _DEFAULT)
    assert text != (variant / "job.toml").read_text()
    (variant / "job.toml").write_text(text)
    (variant / "site.toml").write_text(uncomment(variant / "site.toml", _DEFAULT))
    again = load_job(variant / "job.toml")
    assert again.settings == job.settings
    assert (again.timeout_s, again.compare_alone, again.compare_plain, again.check_exactness, again.test_data) == (
        job.timeout_s,
        job.compare_alone,
        job.compare_plain,
        job.check_exactness,
        job.test_data,
    )
    assert same_apart_from_said_defaults(load_site(variant / "site.toml"), site)


def read_and_note(path: Path, monkeypatch, load=load_job) -> dict[tuple[str, str], object]:
    """Every (section, key) that the readers ask for in the folder's files, with its default; None where it has none.

    `load` reads the job file.
    """
    asked: dict[tuple[str, str], object] = {}
    take, take_optional, take_choice = Section.take, Section.take_optional, Section.take_choice
    text_or_number = Section.take_optional_text_or_number

    def noting_take(self, key, kind, default=None):
        if not (kind is dict and default == {} and key != "arguments"):
            asked.setdefault((self.place, key), default)
        return take(self, key, kind, default)

    def noting_take_optional(self, key, kind):
        asked.setdefault((self.place, key), None)
        return take_optional(self, key, kind)

    def noting_take_choice(self, key, choices):
        asked.setdefault((self.place, key), choices[0])
        return take_choice(self, key, choices)

    def noting_text_or_number(self, key):
        asked.setdefault((self.place, key), None)
        return text_or_number(self, key)

    monkeypatch.setattr(Section, "take", noting_take)
    monkeypatch.setattr(Section, "take_choice", noting_take_choice)
    monkeypatch.setattr(Section, "take_optional_text_or_number", noting_text_or_number)
    monkeypatch.setattr(Section, "take_optional", noting_take_optional)
    load(path / "job.toml")
    load_site(path / "site.toml")
    monkeypatch.undo()
    return asked


def settings_in(*texts: str) -> dict[tuple[str, str], object]:
    """Every (section, key) of files with its value."""
    found: dict[tuple[str, str], object] = {}

    def walk(place: str, values: dict[str, object]) -> None:
        for key, value in values.items():
            found[place, key] = value
            if isinstance(value, dict):
                walk(f"{place}.{key}" if place else key, value)

    for text in texts:
        walk("", tomllib.loads(text))
    return found


def test_every_setting_that_is_read_is_written(tmp_path, monkeypatch) -> None:
    asked: dict[tuple[str, str], object] = {}
    written: dict[tuple[str, str], object] = {}
    defaults: dict[tuple[str, str], object] = {}
    for model, data, protection in VARIANTS:
        folder = tmp_path / f"{model}-{data}-{protection}"
        assert init(folder, "--model", model, "--data", data, "--protection", protection) == 0
        asked |= read_and_note(folder, monkeypatch)
        for name in ("job.toml", "site.toml"):
            commented = settings_in((folder / name).read_text())
            written |= settings_in(uncomment(folder / name, _SETTING))
            plain = settings_in(uncomment(folder / name, _DEFAULT))
            defaults |= {key: value for key, value in plain.items() if key not in commented}
    first = {key for key in asked if not re.match(r"party\.(beta|gamma)", key[0])}
    assert len(first) > 40
    assert sorted(first - written.keys()) == []
    # What is commented out as a default is what the reader takes where the line is missing.
    known = {key: value for key, value in asked.items() if value is not None and key in defaults}
    assert len(known) > 20
    assert {key: defaults[key] for key in known} == known


def test_a_setting_that_is_missing_from_the_template_is_found(tmp_path, monkeypatch) -> None:
    from hekat.job.new import job_template

    monkeypatch.setattr(job_template, "_codec", lambda job: ["[codec]"])
    with pytest.raises(AssertionError, match=r"codec.*alpha"):
        test_every_setting_that_is_read_is_written(tmp_path, pytest.MonkeyPatch())


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--model", "linear"),
        pytest.param(("--data", "npz", "--classes", "low,mid,high"), marks=pytest.mark.long),
        ("--data", "python", "--model", "mlp", "--classes", "a,b,c"),
        ("--data", "python", "--model", "linear", "--parties", "a.1,b-2,c_3,d"),
        pytest.param(("--data", "libsvm"), marks=pytest.mark.long),
        ("--data", "npy", "--model", "linear"),
    ],
    ids=" ".join,
)
def test_an_example_runs_at_once(options, tmp_path, capsys) -> None:
    assert init(tmp_path / "first", "--example", *options) == 0
    told = capsys.readouterr().out
    assert f"hekat run {tmp_path / 'first' / 'job.toml'}" in told
    assert main(["run", str(tmp_path / "first" / "job.toml"), "--runs", str(tmp_path / "runs"), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    encrypted = next(row for row in summary["results"] if row["kind"] == "encrypted")
    measure, least = ("r2", 0.3) if "linear" in options else ("accuracy", 0.5)
    assert encrypted["metrics"][measure] > least


@pytest.mark.long
def test_an_example_in_parquet_runs_at_once(tmp_path, capsys) -> None:
    pytest.importorskip("pyarrow", reason="needs hekat[parquet]")
    test_an_example_runs_at_once(("--data", "parquet"), tmp_path, capsys)


@pytest.mark.long
def test_an_example_of_torch_can_be_run(tmp_path, capsys) -> None:
    pytest.importorskip("torch", reason="needs hekat[torch]")
    assert init(tmp_path / "first", "--example", "--model", "torch") == 0
    capsys.readouterr()
    assert main(["run", str(tmp_path / "first" / "job.toml"), "--dry-run", "--json"]) == 0
    # Weights and biases of 3 inputs, 16 hidden units and 2 classes.
    assert json.loads(capsys.readouterr().out)["update_values"] == 3 * 16 + 16 + 16 * 2 + 2


def test_names_and_classes_of_any_text_come_back(tmp_path) -> None:
    classes = ('say "yes"', "non\\sense", "ja, ähm")
    assert init(tmp_path, "--parties", "a.b,c,d", "--classes", ",".join(classes[:2]), "--aggregator", "add") == 0
    settings = load_job(tmp_path / "job.toml").settings
    assert (settings.parties, settings.aggregator, settings.classes) == (("a.b", "c", "d"), "add", classes[:2])
    assert set(load_site(tmp_path / "site.toml").parties) == {"a.b", "c", "d"}


@pytest.mark.parametrize("model", ["mlp", "torch"])
def test_a_network_for_labels_that_are_numbers(model, tmp_path) -> None:
    rows = "\n".join(f"{number % 13},{number * 0.37:.2f}" for number in range(40))
    (tmp_path / "prices.csv").write_text(f"area,price\n{rows}\n")
    assert init(tmp_path, "--from", str(tmp_path / "prices.csv"), "--model", model) == 0
    settings = load_job(tmp_path / "job.toml").settings
    assert (settings.model.name, settings.classes) == ({"mlp": "mlp", "torch": "my-net"}[model], None)


def test_a_label_of_numbers_makes_a_regression(tmp_path) -> None:
    rows = "\n".join(f"{number % 13},{number * 0.37:.2f}" for number in range(40))
    (tmp_path / "prices.csv").write_text(f"area,price\n{rows}\n")
    assert init(tmp_path, "--from", str(tmp_path / "prices.csv")) == 0
    settings = load_job(tmp_path / "job.toml").settings
    assert (settings.model.name, settings.classes) == ("linear", None)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--parties", "a,b"), "--allow-two-parties"),
        (("--parties", "a,b,b"), "named twice"),
        (("--parties", "a,../b,c"), "name cannot be used"),
        (("--parties", "a,,c"), "expected names"),
        (("--parties", "a,b,hub"), "aggregator is also a party"),
        (("--model", "linear", "--classes", "a,b"), "no classes"),
        (("--classes", "a"), "needs classes"),
        (("--classes", "a,a"), "needs classes"),
        (("--model", "forest"), "invalid choice"),
        (("--name", "x\x1b[2J"), "control character"),
        (("--from", "missing.csv"), "missing.csv"),
        (("--from", "missing.csv", "--example"), "--from takes"),
        (("--from", "missing.csv", "--data", "npz"), "tables in files or databases"),
        (("--split",), "add --from FILE"),
        (("--split", "--from", "a.csv", "b.csv"), "leave out --split"),
        (("--parties", "a,b,c", "--from", "1.csv", "2.csv", "3.csv", "4.csv"), "more tables than parties"),
        (("--from", "x/a.csv", "y/a.csv"), "name the parties with --parties"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_written(options, words, tmp_path, capsys) -> None:
    assert init(tmp_path / "deep" / "new", *options) == 2
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["job.toml", "site.toml", "data/beta.csv"])
def test_nothing_is_written_over(name, tmp_path, capsys) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    assert init(tmp_path, "--example") == 2
    assert "already there" in capsys.readouterr().err
    assert (tmp_path / name).read_text() == "mine"
    assert sorted(tmp_path.rglob("*")) == before


def test_a_disk_that_fails_on_the_way_leaves_nothing(tmp_path, monkeypatch, capsys) -> None:
    link, made = Path.hardlink_to, []

    def fail_late(self, target):
        made.append(self)
        if len(made) == 3:
            raise OSError(28, "No space left on device")
        link(self, target)

    monkeypatch.setattr(Path, "hardlink_to", fail_late)
    assert init(tmp_path / "new", "--example") == 2
    assert "free some space" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_json_tells_what_was_written(tmp_path, capsys) -> None:
    assert init(tmp_path / "trial", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["written"] == [str(tmp_path / "trial" / name) for name in ("job.toml", "site.toml")]
    assert told["job"] == "trial"
