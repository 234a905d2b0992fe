"""Every protocol as jobs of the installed NVIDIA FLARE: its simulator's processes, and a POC with mutual TLS."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
from tests.launch.jobs_apart import shortened
from tests.launch.nvflare.installed_engine import one_engine_at_a_time, run_apart, skip_where_ports_are_taken
from tests.live.page_reader import Reader, check_told

from hekat.cli.main import main
from hekat.launch.horizontal.run import run_job
from hekat.launch.horizontal_trees.run import run_row_trees_job
from hekat.run.horizontal.load_inputs import load_inputs
from hekat.run.horizontal_trees.load_inputs import load_row_trees_inputs

__all__ = ["one_engine_at_a_time"]  # a fixture of all tests here

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"

pytest.importorskip("nvflare", reason="needs hekat[nvflare]")
pytestmark = [pytest.mark.long, pytest.mark.waits]

# The engine starts processes of its own; a process apart keeps what it does to signals and logging away from pytest.
PROGRAM = """
import json, sys
from pathlib import Path
from nvflare.recipe.sim_env import SimEnv
from hekat.nvflare import HekatRecipe
job, place, sites = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
resume = sys.argv[5] or None
recipe = HekatRecipe(job, site=sys.argv[4], runs=place / "runs", resume=resume)
try:
    recipe.run(SimEnv(clients=sites, workspace_root=str(place / f"workspace{'-again' if resume else ''}")))
except RuntimeError as error:
    print(error)
outcomes = {role: [one.outcome, one.kind, one.error] for role, one in recipe.outcomes().items()}
(place / "told.json").write_text(json.dumps({"run_id": recipe.run_id, "outcomes": outcomes}))
"""
HOSPITALS = ("northside", "lakeview", "county")
# The rows of scikit-learn without scikit-learn: to load it takes a process longer than all that it plays there.
IMPORTED = "from sklearn.datasets import load_breast_cancer\n"
LOADED = """
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace


def load_breast_cancer(return_X_y=False):
    path = Path(find_spec("sklearn").origin).parent / "datasets" / "data" / "breast_cancer.csv"
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    rows = table[:, :-1], table[:, -1].astype(int)
    return rows if return_X_y else SimpleNamespace(feature_names=[f"column {i}" for i in range(rows[0].shape[1])])
"""
AUTHORITY = 'opening = "authority"\nauthority = "keeper"'


def simulate(
    place: Path, job: Path, sites: list[str], site: Path, *, ends_well: bool = True, resume: str = ""
) -> dict[str, Any]:
    environment = {**os.environ, "HOME": str(place), "TMPDIR": str(place)}
    words = [sys.executable, "-c", PROGRAM, str(job), str(place), json.dumps(sites), str(site), resume]
    done = run_apart(words, environment, timeout_s=180)
    assert done.returncode == 0 or not ends_well, done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads((place / "told.json").read_text())


def three_hospitals(place: Path, opening: str, rounds: int) -> Path:
    """The hospitals' job and site file in `place`, for three of them; returns the job."""
    text = (EXAMPLES / "hospitals" / "job.toml").read_text()
    text = text.replace('"saint-anne", "riverside", ', "").replace("[training] ", f"[training]\nrounds = {rounds}\n#")
    assert f"\nrounds = {rounds}\n" in text
    text = text.replace("alone = true", "alone = false").replace("plain = true", "plain = false")
    start = text.index('opening = "committee"')
    text = text[:start] + opening + text[text.index("\n\n[compare]") :]
    job = place / "job.toml"
    job.write_text(text)
    own = (EXAMPLES / "hospitals" / "site.toml").read_text()
    own = own.replace('openings = ["committee"]', 'openings = ["committee", "authority", "shared"]')
    (place / "site.toml").write_text(own)
    code = (EXAMPLES / "hospitals" / "hospitals.py").read_text()
    assert IMPORTED in code
    (place / "hospitals.py").write_text(code.replace(IMPORTED, LOADED))
    return job


def check_trained(place: Path, told: dict[str, Any], sites: list[str]) -> None:
    """Every role ended well, the sites have one model, and the engine's own folder nothing of them."""
    assert told["outcomes"] == {role: ["finished", "", ""] for role in (*sites, "aggregator")}
    models = {(place / "runs" / name / told["run_id"] / "model.npz").read_bytes() for name in sites[:3]}
    assert len(models) == 1
    # The engine's own folder has its job and its logs, and nothing of a site.
    kept = b"".join(path.read_bytes() for path in (place / "workspace").rglob("*") if path.is_file())
    assert b"hekat: the role is played to its end" in kept
    weights = [array.tobytes() for array in read_arrays(place / "runs" / sites[0] / told["run_id"] / "model.npz")]
    planted = [b"hekat-party-private-ed25519:", str(place / "site.toml").encode()]
    planted += [one[:32] for one in weights if len(one) >= 32]
    assert len(planted) > 2
    assert [one for one in planted if one in kept] == []


@pytest.mark.parametrize(
    ("opening", "sites"),
    [(AUTHORITY, [*HOSPITALS, "keeper"]), ('opening = "shared"', [*HOSPITALS])],
    ids=["authority", "shared"],
)
def test_hospitals_train_in_the_simulator(tmp_path: Path, opening: str, sites: list[str]) -> None:
    job = three_hospitals(tmp_path, opening, rounds=2)
    check_trained(tmp_path, simulate(tmp_path, job, sites, tmp_path / "site.toml"), sites)


@dataclass
class Watched:
    """A run under the committee, and who read the page of which site."""

    place: Path
    told: dict[str, Any]
    readers: dict[str, Reader]


@pytest.fixture
def watched(one_engine_at_a_time: None, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """The same run in each test; its sites serve pages where what they need is installed."""
    return run_watched(tmp_path_factory.getbasetemp() / "watched")


@cache
def run_watched(place: Path) -> Watched:
    place.mkdir()
    job = three_hospitals(place, 'opening = "committee"', rounds=3)
    if all(map(find_spec, ("starlette", "uvicorn"))):
        with (place / "site.toml").open("a") as file:
            file.write("\n[live]\nport = 0\n")
    readers, is_over = dict[Path, Reader](), Event()

    def look() -> None:
        while not is_over.wait(0.02):
            for path in (place / "runs").glob("*/*.live"):
                readers.setdefault(path, Reader(path)).look()

    looking = Thread(target=look, daemon=True)
    looking.start()
    try:
        told = simulate(place, job, [*HOSPITALS], place / "site.toml")
    finally:
        is_over.set()
        looking.join()
    return Watched(place, told, {path.parent.name: reader for path, reader in readers.items()})


def test_hospitals_train_in_the_simulator_under_the_committee(watched: Watched) -> None:
    check_trained(watched.place, watched.told, [*HOSPITALS])


def test_every_site_that_asks_serves_a_page_while_the_engine_plays_its_role(watched: Watched) -> None:
    pytest.importorskip("hekat.live.web.server", reason="needs hekat[live]")
    assert {outcome for outcome, _, _ in watched.told["outcomes"].values()} == {"finished"}
    assert set(watched.readers) == {*HOSPITALS, "server"}
    for site in HOSPITALS:
        check_told(watched.readers[site], site, 3)


# A site's own code, whose process raises in round 2 as long as a file says so.
STOPS_IN_ROUND_2 = """

_load = load


def load(hospital):
    from pathlib import Path

    from hekat.run.horizontal.role import HorizontalRole

    def leave(self, step, part):
        if (step, part) == ("round-2", "sign"):
            raise RuntimeError("this machine goes down")

    if hospital == 1 and (Path(__file__).parent / "stops").exists():
        HorizontalRole._leave_where_asked = leave
    return _load(hospital)
"""


def test_a_run_that_stopped_goes_on_in_a_new_job_with_the_same_bits(tmp_path: Path) -> None:
    job, sites = three_hospitals(tmp_path, 'opening = "committee"', rounds=3), [*HOSPITALS]
    with (tmp_path / "hospitals.py").open("a") as code:
        code.write(STOPS_IN_ROUND_2)
    (tmp_path / "stops").touch()
    stopped = simulate(tmp_path, job, sites, tmp_path / "site.toml", ends_well=False)
    assert {outcome for outcome, _, _ in stopped["outcomes"].values()} == {"failed"}
    (tmp_path / "stops").unlink()
    told = simulate(tmp_path, job, sites, tmp_path / "site.toml", resume=stopped["run_id"])
    assert told["outcomes"] == {role: ["finished", "", ""] for role in (*sites, "aggregator")}
    assert told["run_id"] != stopped["run_id"]
    whole = run_job(load_inputs(job, tmp_path / "site.toml"), tmp_path / "whole")
    expected = read_arrays(whole.folder / "model.npz")
    for site in sites:
        folder = tmp_path / "runs" / site / told["run_id"]
        assert '"rounds_done": 1' in (folder / "events.jsonl").read_text().partition('"round"')[0]
        for one, other in zip(read_arrays(folder / "model.npz"), expected, strict=True):
            np.testing.assert_array_equal(one, other)


def read_arrays(path: Path) -> list[np.ndarray]:
    with np.load(path, allow_pickle=False) as arrays:
        return [arrays[name] for name in arrays.files if name != "hekat"]


@pytest.mark.parametrize(
    ("job", "sites"),
    [
        ("intersection/job.toml", ["baker", "florist"]),
        ("vertical_credit/job_shared.toml", ["bank", "insurer"]),
        ("vertical_credit/job_arbiter.toml", ["bank", "insurer", "telephone", "arbiter"]),
        ("vertical_credit/job_trees.toml", ["bank", "insurer", "telephone"]),
        ("vertical_credit/job_network.toml", ["bank", "insurer", "telephone"]),
    ],
)
def test_the_server_is_only_the_way_between_sites(tmp_path: Path, job: str, sites: list[str]) -> None:
    path = shortened(EXAMPLES / job, tmp_path / "job")
    told = simulate(tmp_path, path, sites, path.parent / "site.toml")
    assert told["outcomes"] == {role: ["finished", "", ""] for role in sites}


def test_trees_across_rows_grow_in_the_simulator(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path), "--protocol", "horizontal_trees", "--example"]) == 0
    job, sites = tmp_path / "job.toml", ["alpha", "beta", "gamma"]
    text = job.read_text()
    assert "max_iter = 20 " in text
    job.write_text(text.replace("max_iter = 20 ", "max_iter = 2 "))
    told = simulate(tmp_path, job, sites, tmp_path / "site.toml")
    assert told["outcomes"] == {role: ["finished", "", ""] for role in (*sites, "hub")}
    # The server has no model.
    assert sorted(path.parent.parent.name for path in (tmp_path / "runs").rglob("model.npz")) == sites
    whole = run_row_trees_job(load_row_trees_inputs(job), tmp_path / "whole")
    expected = read_arrays(whole.folder / "model.npz")
    for site in sites:
        for one, other in zip(
            read_arrays(tmp_path / "runs" / site / told["run_id"] / "model.npz"), expected, strict=True
        ):
            np.testing.assert_array_equal(one, other)


def test_a_site_that_refuses_ends_the_job_for_all(tmp_path: Path) -> None:
    source = (EXAMPLES / "intersection" / "site.toml").read_text()
    (tmp_path / "site.toml").write_text(source.replace("[party.florist", "[party.stranger"))
    (tmp_path / "customers.py").write_bytes((EXAMPLES / "intersection" / "customers.py").read_bytes())
    job = EXAMPLES / "intersection" / "job.toml"
    told = simulate(tmp_path, job, ["baker", "florist"], tmp_path / "site.toml", ends_well=False)
    outcome, kind, error = told["outcomes"]["florist"]
    assert (outcome, kind) == ("failed", "JobError")
    assert "no party 'florist'" in error
    assert told["outcomes"].get("baker", ["failed"])[0] == "failed"
    logs = b"".join(path.read_bytes() for path in (tmp_path / "workspace").rglob("*.txt"))
    assert b"the role ended by JobError" in logs
    assert b"Traceback" not in logs
    assert b"knows no party" not in logs


def test_three_sites_with_mutual_tls_train_and_leave_nothing(tmp_path: Path) -> None:
    skip_where_ports_are_taken()
    environment = {**os.environ, "ROUNDS": "2", "TMPDIR": str(tmp_path)}
    script = EXAMPLES / "hospitals_nvflare.py"
    done = run_apart([sys.executable, str(script)], environment, timeout_s=280)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "test rows" in done.stdout
    assert not list(tmp_path.iterdir())


def test_hosts_train_a_model_that_its_owner_alone_has_in_the_simulator(tmp_path: Path) -> None:
    path = shortened(EXAMPLES / "encrypted_model" / "job.toml", tmp_path / "job")
    sites = ["northside", "lakeview", "riverside", "institute", "arbiter"]
    told = simulate(tmp_path, path, sites, path.parent / "site.toml")
    assert told["outcomes"] == {role: ["finished", "", ""] for role in (*sites, "aggregator")}
    assert [path.parent.parent.name for path in (tmp_path / "runs").rglob("model.npz")] == ["institute"]
