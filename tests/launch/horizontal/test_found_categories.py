"""Three parties whose tables hold different texts train as if the job had listed all of them, to the bit."""

from __future__ import annotations

import hmac
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.launch.nvflare.fake_engine import FakeEngine, order_of, play_all, runs_of
from tests.launch.nvflare.test_resume import resume, run_until
from tests.launch.roles_apart import RolesApart

from hekat.cli.main import main
from hekat.cost.horizontal import cost_of_job
from hekat.errors import ChannelError, HekatError, InputError, JobError, PartyStoppedError, StateError
from hekat.job.agreed_terms import terms_of
from hekat.job.load_any_job import load_any_job
from hekat.launch.horizontal.run import run_job
from hekat.protocol.horizontal import party as party_role
from hekat.protocol.horizontal.categories import agree_on_categories
from hekat.run.horizontal.found_categories import SettledInputs, settle_as_before
from hekat.run.horizontal.load_inputs import load_inputs
from hekat.run.horizontal.role import HorizontalRole, RoleContext
from hekat.run.horizontal.trained_model import load_trained_model
from hekat.run.horizontal.training_state_file import CHECKPOINT_FILE, EARLIER_FILE
from hekat.run.horizontal.vocabulary_entry import decode_vocabulary, encode_vocabulary
from hekat.run.rows.kept_rows import ROWS_FOLDER
from hekat.state import load_checkpoint, save_checkpoint

TEXTS = {
    "north": ("clerk", "nurse", "pilot"),
    "east": ("nurse", "Bäcker", "7"),
    "south": ("nurse", "diver", "other"),
}
LISTED = ("7", "Bäcker", "clerk", "diver", "nurse", "pilot")
PARTIES = tuple(TEXTS)
FOUND = 'categories = "found"'
LIST = f"categories = {json.dumps(list(LISTED), ensure_ascii=False)}"
JOB = """format = 2
name = "jobs"
protocol = "horizontal"
parties = ["north", "east", "south"]
aggregator = "hub"
data = "visits"
classes = ["no", "yes"]
weight_max = 1000
timeout_s = 120
{top}

[training]
rounds = 3
{training}

[protection]
kind = "lattice"

{more}

[columns.job]
{categories}
other = true
missing = "category"
"""


def write_rows(path: Path, texts: tuple[str, ...], seed: int) -> None:
    """Thirty rows: nine or ten of each text, one of a text that no other row holds, and one empty cell."""
    rng = np.random.default_rng(seed)
    jobs = [texts[number % 3] for number in range(28)] + [f"of one row {seed}", ""]
    lines = ["age,job,ill"]
    for number, job in enumerate(jobs):
        age = rng.integers(20, 80)
        ill = 8 * (len(job) % 5) + age + rng.normal(0, 8) > 60
        lines.append(f"{age},{job},{'yes' if (ill and number != 0) or number == 1 else 'no'}")
    path.write_text("\n".join(lines) + "\n")


def jobs_in(place: Path, categories: str, *, top: str = "", training: str = "", more: str = "") -> RolesApart:
    place.mkdir(exist_ok=True)
    sites = {}
    for seed, (party, texts) in enumerate(TEXTS.items()):
        write_rows(place / f"{party}.csv", texts, seed)
        source = f'source = "csv"\npath = "{place / party}.csv"\nlabel = "ill"'
        sites[party] = f"\n[party.{party}.data.visits]\n{source}\n"
    write_rows(place / "test.csv", ("clerk", "diver", "seen in no training"), 9)
    common = f'[common_data.later]\nsource = "csv"\npath = "{place}/test.csv"\nlabel = "ill"\n'
    text = JOB.format(categories=categories, top=top, training=training, more=more)
    policy = 'protections = ["lattice", "none"]\nmin_parties = 2'
    return RolesApart(place, text, (*PARTIES, "hub"), sites, policy, more_sites=common)


def run_together(apart: RolesApart) -> Path:
    return run_job(load_inputs(apart.together / "job.toml"), apart.place / "runs").folder


def arrays_in(folder: Path) -> dict[str, np.ndarray]:
    with np.load(folder / "model.npz") as file:
        return {name: file[name] for name in file.files if file[name].dtype.kind == "f"}


def assert_same(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name])


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run whose job lists the categories."""
    return run_together(jobs_in(tmp_path_factory.mktemp("listed"), LIST))


@pytest.mark.long
def test_places_in_the_table_follow_from_a_key_that_the_aggregator_lacks(tmp_path: Path, monkeypatch) -> None:
    """It knows the session: by that alone it could add a text of its own to the sum, and see whether it was there."""
    seen: list[tuple[bytes, bytes, bytes]] = []

    def listen(key: bytes, message: bytes, digest: str) -> bytes:
        seen.append((key, message, hmac.digest(key, message, digest)))
        return seen[-1][2]

    def agree(aggregation, offers, columns, seed):
        seeds.append(seed)
        return agree_on_categories.agree_on_categories(aggregation, offers, columns, seed)

    seeds: list[bytes] = []
    monkeypatch.setattr(party_role, "hmac", SimpleNamespace(digest=listen))
    monkeypatch.setattr(party_role, "agree_on_categories", agree)
    run_together(jobs_in(tmp_path / "together", FOUND))
    assert len(seeds) == len(PARTIES)
    assert len(set(seeds)) == 1
    assert {seed for _, _, seed in seen} == set(seeds)
    assert {len(key) for key, _, _ in seen} == {32}


@pytest.mark.long
def test_roles_apart_train_the_model_of_the_job_that_lists_all_texts(tmp_path: Path, listed: Path) -> None:
    apart = jobs_in(tmp_path / "apart", FOUND)
    order = order_of(apart)
    assert play_all(apart, order, FakeEngine()) == dict.fromkeys(apart.roles)
    for party in PARTIES:
        folder = runs_of(apart, party) / order.run_id
        assert_same(arrays_in(folder), arrays_in(listed))
        assert load_trained_model(folder).column_specs.find("job").categories == LISTED
        left = "".join(path.read_text() for path in (folder / "ledger").iterdir())
        assert not any(text in left for text in ("clerk", "diver", "of one row"))
    kept = "".join(path.read_text() for path in (runs_of(apart, "hub") / order.run_id).rglob("*.json*"))
    assert "categories/table" in kept
    assert not any(text in kept for text in (*LISTED[1:], "of one row"))


@pytest.mark.long
def test_roles_in_processes_of_their_own_do_so_too(fork, tmp_path: Path, listed: Path) -> None:
    apart = jobs_in(tmp_path / "apart", FOUND)
    ended = apart.play(fork)
    assert {role: (one.code, one.told.get("error")) for role, one in ended.items()} == dict.fromkeys(
        apart.roles, (0, None)
    )
    for party in PARTIES:
        assert_same(arrays_in(apart.run_of(party)), arrays_in(listed))


@pytest.mark.long
def test_one_machine_finds_them_too_and_compares(tmp_path: Path) -> None:
    """With test data, each party alone, and the same in the clear; a text that training did not have is "other"."""
    more = "[validation]\nhold_out = 0.2\n[compare]\nalone = true\nplain = true\n"
    summaries = []
    for name, categories in (("found", FOUND), ("listed", LIST)):
        apart = jobs_in(tmp_path / name, categories, top='test_data = "later"', more=more)
        folder = run_together(apart)
        summaries.append(json.loads((folder / "summary.json").read_text()))
        if name == "found":
            found = arrays_in(folder)
    assert_same(found, arrays_in(folder))
    assert summaries[0]["results"] == summaries[1]["results"]
    assert len(summaries[0]["results"]) == 5
    assert any(
        "categories of column 'job' were found by all parties together: 6" in one for one in summaries[0]["notes"]
    )
    assert "categories" in summaries[0]["bytes"]["by_role"]["north"]["by_step"]


@pytest.mark.long
def test_folds_are_cross_validated_on_the_same_categories(tmp_path: Path) -> None:
    found, listed = (
        run_together(jobs_in(tmp_path / name, categories, more="[validation]\nfolds = 3\n"))
        for name, categories in (("found", FOUND), ("listed", LIST))
    )
    assert_same(arrays_in(found), arrays_in(listed))
    results = [json.loads((folder / "summary.json").read_text())["results"] for folder in (found, listed)]
    assert results[0] == results[1]


@pytest.mark.long
def test_a_column_that_nobody_needs_for_other_texts_is_no_warning(tmp_path: Path) -> None:
    apart = jobs_in(tmp_path / "found", FOUND)
    for party in PARTIES:
        rows = (apart.place / f"{party}.csv").read_text().splitlines()
        kept = [line for line in rows if "of one row" not in line and ",other," not in line]
        (apart.place / f"{party}.csv").write_text("\n".join(kept) + "\n")
    summary = json.loads((run_together(apart) / "summary.json").read_text())
    assert not any("job=other" in note for note in summary["notes"])


@pytest.mark.long
def test_new_rows_are_predicted_by_the_categories_that_were_found(tmp_path: Path, capsys) -> None:
    apart = jobs_in(tmp_path / "found", FOUND)
    folder = run_together(apart)
    assert main(["predict", str(folder), "--data", str(apart.place / "test.csv"), "--label", "ill"]) == 0
    told = capsys.readouterr()
    assert "hold none of its categories and count as 'other'" in f"{told.out}{told.err}".replace("\n", " ")


def stopped_after_two(place: Path):
    apart = jobs_in(place, FOUND)
    return apart, run_until(apart, rb"round-3/upload-\d+/released")


@pytest.mark.long
def test_a_resumed_run_keeps_the_categories_of_its_checkpoint(tmp_path: Path, listed: Path) -> None:
    apart, order = stopped_after_two(tmp_path / "found")
    checkpoint = load_checkpoint(runs_of(apart, "north") / order.run_id / CHECKPOINT_FILE, apart.job.digest)
    assert "vocabulary" in checkpoint.codec_state
    again, ended = resume(apart, order)
    assert ended == dict.fromkeys(apart.roles)
    for party in PARTIES:
        assert_same(arrays_in(runs_of(apart, party) / again.run_id), arrays_in(listed))


@pytest.mark.long
def test_a_run_is_not_resumed_with_a_table_of_other_texts(tmp_path: Path) -> None:
    apart, order = stopped_after_two(tmp_path / "found")
    rows = apart.place / "north.csv"
    rows.write_text(rows.read_text().replace("clerk", "astronaut"))
    inputs = load_inputs(apart.folder_of("north") / "job.toml", role="north")
    with pytest.raises(StateError, match="the table of north holds categories that the run in") as caught:
        settle_as_before(runs_of(apart, "north") / order.run_id, inputs)
    assert caught.value.got == "other texts in column 'job'"


FORGED = {
    "a control character": {"job": ["7", "Bäcker", "clerk", "\x1b", "nurse", "pilot"]},
    "a text twice": {"job": ["7", "7", "clerk", "nurse"]},
    "another column": {"town": ["Ulm"]},
    "no text": {"job": []},
    "too many": {"job": [f"text {number}" for number in range(201)]},
    "numbers": {"job": [1, 2]},
}


@pytest.mark.parametrize("kind", FORGED)
def test_what_no_run_finds_is_no_vocabulary_of_a_checkpoint(kind: str) -> None:
    with pytest.raises(StateError, match="cannot be resumed; expected the categories of each column"):
        decode_vocabulary("checkpoint", encode_vocabulary(FORGED[kind]), ["job"])


@pytest.mark.parametrize("entry", [None, 1.0, np.zeros(3), np.full(8, 255, dtype=np.uint8)])
def test_an_entry_that_is_no_text_is_no_vocabulary(entry: object) -> None:
    with pytest.raises(StateError, match="cannot be resumed; expected the categories of each column"):
        decode_vocabulary("checkpoint", entry, ["job"])


@pytest.mark.long
def test_a_party_that_resumes_with_other_texts_is_found_out(tmp_path: Path) -> None:
    """The forged list is well-formed, and as long as the others'; the digests of the parties' models hold it."""
    apart, order = stopped_after_two(tmp_path / "found")
    for name in (CHECKPOINT_FILE, EARLIER_FILE):
        path = runs_of(apart, "north") / order.run_id / name
        checkpoint = load_checkpoint(path, apart.job.digest)
        forged = {"job": ["7", "Bäcker", "clerk", "driver", "nurse", "pilot"]}
        save_checkpoint(
            path, replace(checkpoint, codec_state={**checkpoint.codec_state, "vocabulary": encode_vocabulary(forged)})
        )
    # Encoded by another list, its rows are others to `rows/`, which here is gone.
    shutil.rmtree(runs_of(apart, "north") / order.run_id / ROWS_FOLDER)
    again, ended = resume(apart, order)
    assert all(isinstance(error, HekatError) for error in ended.values()), ended
    assert not any((runs_of(apart, party) / again.run_id / "model.npz").exists() for party in PARTIES)


@pytest.mark.long
def test_a_hostile_table_ends_the_run_in_its_phase(tmp_path: Path, monkeypatch) -> None:
    fill = agree_on_categories.fill_table

    def spoil(categories, most, seed):
        numbers = fill(categories, most, seed)
        return [number + 1 for number in numbers] if any(one.text == "clerk" for one in categories) else numbers

    monkeypatch.setattr(agree_on_categories, "fill_table", spoil)
    with pytest.raises(PartyStoppedError, match=r"cannot be read from their sum \(step categories/table\)") as caught:
        run_together(jobs_in(tmp_path / "found", FOUND))
    assert "run again" in str(caught.value)


def test_a_party_that_leaves_while_categories_are_found_ends_the_run(tmp_path: Path, monkeypatch) -> None:
    def leave(self, step: str, part: str) -> None:
        if self._context.role == "east" and step == "categories/table" and part == "sign":
            raise ChannelError("gone")

    monkeypatch.setattr(HorizontalRole, "_leave_where_asked", leave)
    with pytest.raises(PartyStoppedError) as caught:
        run_together(jobs_in(tmp_path / "found", FOUND))
    assert "categories/table" in caught.value.step
    assert "east" in str(caught.value)


@pytest.mark.long
def test_a_dry_run_counts_what_is_found_here_and_what_finding_costs(tmp_path: Path, capsys) -> None:
    apart = jobs_in(tmp_path / "found", FOUND)
    assert main(["run", str(apart.together / "job.toml"), "--dry-run"]) == 0
    told = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert "job: 6 by the tables here; all parties together find at most 200" in told
    costs = [
        cost_of_job(load_inputs(one.together / "job.toml")).costs[0]
        for one in (apart, jobs_in(tmp_path / "listed", LIST))
    ]
    assert costs[0].value_count == costs[1].value_count
    assert costs[0].first_bytes > costs[1].first_bytes + 100_000


def test_a_site_is_told_what_it_shows(tmp_path: Path) -> None:
    apart = jobs_in(tmp_path / "found", f"{FOUND}\nmin_rows = 8")
    terms = dict(terms_of(load_any_job(apart.together / "job.toml")))
    assert terms["shown of job"] == "every text that 8 rows or more of a site hold"
    assert "the categories of columns, which all parties then know" in terms["opened sums"]


def reworded(apart: RolesApart, old: str, new: str) -> Path:
    """The job with other words, for one machine, without the keys that it would have to be approved for."""
    text = (apart.together / "job.toml").read_text().split("[party_keys]")[0]
    assert old in text
    path = apart.together / "reworded.toml"
    path.write_text(text.replace(old, new))
    return path


def test_texts_of_few_rows_are_shown_by_leave_of_the_job_and_the_site_alone(tmp_path: Path) -> None:
    apart = jobs_in(tmp_path / "found", FOUND)
    job = reworded(apart, "other = true\n", "")
    with pytest.raises(InputError, match="texts of a few rows are shown to no other party") as caught:
        load_inputs(job)
    assert "of one row" not in str(caught.value)
    assert "clerk" not in str(caught.value)
    job = reworded(apart, "other = true\n", "min_rows = 1\n")
    with pytest.raises(HekatError, match="does not allow texts of so few rows"):
        load_inputs(job)
    site = (apart.together / "site.toml").read_text().replace("[policy]", "[policy]\nmin_category_rows = 1")
    (apart.together / "site.toml").write_text(site)
    vocabulary = load_inputs(job).job.vocabulary["job"]
    assert vocabulary == (*LISTED[:5], "of one row 0", "of one row 1", "of one row 2", "other", "pilot")


def test_a_role_that_stops_over_its_test_data_tells_no_category(tmp_path: Path) -> None:
    apart = jobs_in(tmp_path / "found", FOUND, top='test_data = "later"')
    (apart.folder_of("north") / "job.toml").write_text(reworded(apart, "other = true\n", "").read_text())
    rows = (apart.place / "north.csv").read_text()
    (apart.place / "north.csv").write_text(rows.replace("of one row 0", "nurse"))
    inputs = load_inputs(apart.folder_of("north") / "job.toml", role="north")
    context = RoleContext(job=inputs.job, settings=inputs.job.settings, role="north", session=None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the test data: vocabulary mismatch in column 'job'") as caught:
        SettledInputs(inputs).settle(context, {"job": LISTED})
    assert not any(text in str(caught.value) for text in (*LISTED[1:], "seen in no training"))


def test_which_columns_hold_texts_is_said_by_name(tmp_path: Path) -> None:
    apart = jobs_in(tmp_path / "found", FOUND)
    job = reworded(apart, f"[columns.job]\n{FOUND}\nother = true\n", f'[columns."j*"]\n{FOUND}\n')
    with pytest.raises(JobError, match="expected the name of one column"):
        load_inputs(job)


def test_a_column_that_nobody_has_texts_in_is_named(tmp_path: Path) -> None:
    apart = jobs_in(tmp_path / "found", f"{FOUND}\nmin_rows = 20")
    with pytest.raises(InputError, match="no party offers a category of columns"):
        load_inputs(apart.together / "job.toml")


@pytest.mark.long
def test_a_party_whose_column_is_empty_trains_by_the_others_categories(tmp_path: Path) -> None:
    apart = jobs_in(tmp_path / "found", FOUND)
    rows = (apart.place / "south.csv").read_text().splitlines()
    (apart.place / "south.csv").write_text(
        "\n".join([rows[0], *(",".join((line.split(",")[0], "", line.split(",")[2])) for line in rows[1:])]) + "\n"
    )
    order = order_of(apart)
    assert play_all(apart, order, FakeEngine()) == dict.fromkeys(apart.roles)
    assert load_trained_model(runs_of(apart, "south") / order.run_id).column_specs.find("job").categories == (
        "7",
        "Bäcker",
        "clerk",
        "nurse",
        "pilot",
    )
