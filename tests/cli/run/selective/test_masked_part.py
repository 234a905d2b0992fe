"""A job that masks a part of every update: said loudly, forbidden unless the site allows it, taken up with its mask."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Workplace
from tests.cli.run.test_own_states import read_model, stopped_run

from hekat.state.array_file import decode_arrays, encode_arrays

# Three columns and a bias.
WEIGHTS = 4


def _mask_half(workplace: Workplace, *more: str, allowed: str = "0.5") -> None:
    workplace.edit("job.toml", 'kind = "lattice"', "\n".join(('kind = "lattice"', "masked = 0.5", *more)))
    workplace.edit("site.toml", r"\[policy\]", f"[policy]\nmin_masked = {allowed}")


def _summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def test_a_run_says_first_and_everywhere_what_went_in_the_clear(workplace: Workplace) -> None:
    _mask_half(workplace, 'map = "exact"', 'always = ["bias"]')
    workplace.shorten()
    answer = workplace.run()
    assert answer.code == 0, answer.err
    said = " ".join(answer.out.split())
    assert "50 % of the values of every update are masked; 50 % go to the aggregator IN THE CLEAR." in said
    assert "trained one model with 50% of every update IN THE CLEAR" in said
    assert "NOT 50% of each party's update: the aggregator saw these values." in said
    (folder,) = workplace.folders()
    summary = _summary(folder)
    assert {key: summary["mask"][key] for key in ("masked", "values")} == {"masked": 2, "values": WEIGHTS}
    assert {summary["settings"][key] for key in ("map", "masked")} == {"exact", 0.5}
    assert any("IN THE CLEAR" in note for note in summary["notes"])
    audited = " ".join(workplace.call("audit", folder).out.split())
    assert "this party's values outside of the mask, scaled by its weight, in the clear" in audited


def test_who_approves_a_job_reads_it(workplace: Workplace) -> None:
    _mask_half(workplace, 'never = ["bias"]', "refresh = 3", "expose_embeddings = true")
    told = " ".join(workplace.call("job", "show", workplace.folder / "job.toml").out.split())
    assert "50 % go to the aggregator IN THE CLEAR" in told
    assert "the mean map (random) of all parties, anew after every 3 rounds" in told
    assert "masked never bias" in told
    assert "embeddings MAY GO IN THE CLEAR" in told


@pytest.mark.long
def test_a_dry_run_says_it_and_the_bytes(workplace: Workplace) -> None:
    _mask_half(workplace)
    workplace.shorten()
    answer = workplace.run("--dry-run")
    assert answer.code == 0, answer.err
    assert "50 % go to the aggregator IN THE CLEAR" in " ".join(answer.out.split())
    told = json.loads(workplace.run("--dry-run", "--json").out)
    assert "IN THE CLEAR" in told["protections"][0]["detail"]
    assert told["maps"]["count"] == 1
    assert "sums and gradients in memory, beside the model" in " ".join(answer.out.split())


@pytest.mark.long
def test_a_resumed_run_goes_on_with_its_mask_and_no_other(workplace: Workplace, monkeypatch: Any) -> None:
    _mask_half(workplace)
    workplace.edit("job.toml", "rounds = 2", "rounds = 4")
    assert workplace.run().code == 0
    whole = workplace.folders()[-1]
    stopped = stopped_run(workplace, monkeypatch, after=2)
    answer = workplace.run("--resume", stopped)
    assert answer.code == 0, answer.err
    again = workplace.folders()[-1]
    assert _summary(again)["mask"] == _summary(whole)["mask"]
    assert all(np.array_equal(values, read_model(again)[name]) for name, values in read_model(whole).items())
    path = stopped / "checkpoint.npz"
    metadata, arrays = decode_arrays(path.read_bytes(), "checkpoint", "it")
    for wrong in (np.array([255], np.uint8), np.array([0b0111], np.uint8), np.zeros(9, np.uint8), np.array([3.0])):
        path.write_bytes(encode_arrays("checkpoint", metadata, arrays | {"codec_state/mask": wrong}))
        refused = workplace.run("--resume", stopped)
        assert refused.code == 2
        assert "mask" in refused.err
    for name in ("mask", "mask_values"):
        fewer = {key: one for key, one in arrays.items() if key != f"codec_state/{name}"}
        path.write_bytes(encode_arrays("checkpoint", metadata, fewer))
        assert "mask" in workplace.run("--resume", stopped).err


def test_embeddings_go_in_the_clear_only_where_the_site_says_so_too(workplace: Workplace) -> None:
    """`min_masked` says how much of an update may go in the clear; whose words, it does not say."""
    _mask_half(workplace, "expose_embeddings = true")
    workplace.shorten()
    for refused in (workplace.run("--dry-run"), workplace.run()):
        assert refused.code == 2
        assert "policy.exposed_embeddings = true" in " ".join(refused.err.split())
    assert workplace.folders() == []
    workplace.edit("site.toml", r"\[policy\]", "[policy]\nexposed_embeddings = true")
    answer = workplace.run("--dry-run")
    assert answer.code == 0, answer.err
    assert "IN THE CLEAR, EMBEDDINGS MAY BE AMONG THEM" in " ".join(answer.out.split())


def test_hekat_init_leaves_it_to_whoever_asks_for_it(workplace: Workplace) -> None:
    made = workplace.folder / "new"
    answer = workplace.call("init", made, "--parties", "a,b,c")
    assert answer.code == 0, answer.err
    lines = [line for path in made.rglob("*.toml") for line in path.read_text().splitlines() if "masked" in line]
    assert [line.split(" ", 3)[:3] for line in lines] == [["#masked", "=", "1.0"], ["#min_masked", "=", "1.0"]]


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ("masked = 0.0", "above 0, up to 1"),
        ("masked = 1.2", "above 0, up to 1"),
        ('masked = "0.1"', "protection.masked has the wrong type"),
        ('masked = 0.5\nmap = "randm"', "protection.map"),
        ('masked = 0.5\ngroups = "row"', "did you mean 'rows'"),
        ("masked = 0.5\nmap_rows = 0", "protection.map_rows"),
        ("masked = 0.5\nrefresh = -1", "protection.refresh"),
        ('map = "exact"', "protection.map has no effect"),
        ('masked = 1.0\nalways = ["bias"]', "protection.always has no effect"),
        ('masked = 0.5\nalways = ["biases"]', "did you mean 'bias'"),
        ('masked = 0.5\nalways = ["*"]', "more values are to be masked always than in all"),
        ('masked = 0.5\nnever = ["weight"]', "too few values are left to mask"),
        ('masked = 0.5\nkind = "paillier"', "protection.masked"),
        ('masked = 0.5\nkind = "none"', "protection.masked"),
    ],
)
def test_a_job_that_no_run_could_follow_is_refused(lines: str, what: str, workplace: Workplace) -> None:
    own_kind = "" if "kind" in lines else 'kind = "lattice"\n'
    workplace.edit("job.toml", 'kind = "lattice"', own_kind + lines)
    workplace.edit(
        "site.toml", r"\[policy\]", '[policy]\nmin_masked = 0.0\nprotections = ["lattice", "paillier", "none"]'
    )
    before = sorted(workplace.folder.rglob("*"))
    answer = workplace.run()
    assert answer.code == 2
    assert what in answer.err
    assert sorted(workplace.folder.rglob("*")) == before, "neither a run nor an upload number"
