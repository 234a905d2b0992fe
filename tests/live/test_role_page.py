"""The page of a role that an engine has a site play: asked for by the site's own file, and gone with the role."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.launch.flower.fake_engine import play
from tests.launch.flower.loop_sites import LoopSites, make_sites
from tests.launch.jobs_apart import clinics
from tests.launch.nvflare.fake_engine import FakeEngine, order_of, play_all, runs_of, site_role
from tests.live.page_reader import WITHIN_S, Reader, check_told

from hekat.errors import HekatError, InputError
from hekat.launch import role_display
from hekat.launch.flower.shelf import Addressed
from hekat.launch.outcome import outcome_path, read_outcome
from hekat.launch.role_display import ShownRole
from hekat.live.bring_role_page import bring_role_page
from hekat.live.role_page import address_path, role_page
from hekat.run.run_events import EVENTS_FILE, logged_run
from hekat.state import create_named_run_directory, new_run_id

pytest.importorskip("hekat.live.web.server", reason="needs hekat[live]")

ASKS = "[live]\nport = 0\n"


@pytest.fixture(autouse=True)
def brought(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(role_display, "_brought", [])
    bring_role_page()


def ask_for_page(sites: LoopSites, role: str, lines: str = ASKS) -> None:
    path = sites.site_file(role)
    path.write_text(path.read_text() + lines)


@pytest.mark.long
def test_a_party_beside_flower_is_shown_where_its_site_asks(tmp_path: Path) -> None:
    sites = make_sites(tmp_path)
    ask_for_page(sites, "north")
    seen: list[Path] = []
    readers: list[Reader] = []

    def look(party: str, parcels: Sequence[Addressed]) -> Sequence[Addressed]:
        seen.extend(tmp_path.rglob("*.live"))
        if not readers and seen:
            readers.append(Reader(seen[0]))
        for reader in readers:
            reader.look()
        return parcels

    _, _, aggregator = play(sites, change=look)
    assert set(seen) == {address_path(sites.runs("north"), aggregator.run_id)}
    last = check_told(readers[0], "north", 2)
    assert last["phase"] == {"name": "training", "done": 2, "total": 2}
    assert {one["presence"] for one in last["participants"]} == {"ended"}
    assert last["roles"][0]["sent_bytes"] > 0


@pytest.mark.long
def test_a_site_over_nvflare_is_shown_where_its_file_asks(tmp_path: Path) -> None:
    apart = clinics(tmp_path, 3, 'kind = "lattice"\nopening = "committee"', rounds=2)
    order = order_of(apart)
    role = next(role for role in apart.roles if role in apart.job.settings.parties)
    path = apart.folder_of(role) / "site.toml"
    path.write_text(path.read_text() + ASKS)
    reader = Reader(address_path(runs_of(apart, role), order.run_id))

    def look(site: str, parcel: bytes) -> bytes:
        reader.look()
        return parcel

    assert play_all(apart, order, FakeEngine(look)) == dict.fromkeys(apart.roles)
    last = check_told(reader, role, 2)
    assert last["rounds"][-1]["loss"] is not None
    assert not list(tmp_path.rglob("*.live"))


@pytest.mark.long
@pytest.mark.parametrize("known", [True, False])
def test_the_page_of_a_role_alone_knows_tests_that_it_trains_on(tmp_path: Path, known: bool) -> None:
    """Its metrics must not stand there as those of a test set; so do its report and its summary say."""
    source = f'[common_data.seen]\nsource = "csv"\npath = "{tmp_path}/seen.csv"\nlabel = "ill"\n'
    lines = 'kind = "lattice"\nopening = "committee"'
    apart = clinics(tmp_path, 3, lines, rounds=1, head='test_data = "seen"\n', more_sites=source)
    header, *lines = (tmp_path / "north.csv").read_text().splitlines()
    rows = lines if known else [f"0.5,{line.partition(',')[2]}" for line in lines]
    (tmp_path / "seen.csv").write_text("\n".join([header, *rows]) + "\n")
    order = order_of(apart)
    path = apart.folder_of("north") / "site.toml"
    path.write_text(path.read_text() + ASKS)
    reader = Reader(address_path(runs_of(apart, "north"), order.run_id))

    def look(site: str, parcel: bytes) -> bytes:
        reader.look()
        return parcel

    assert play_all(apart, order, FakeEngine(look)) == dict.fromkeys(apart.roles)
    last = check_told(reader, "north", 1)
    assert last["rounds"][-1]["metrics"]
    assert last["run"]["tests_trained_on"] is known


def test_a_page_that_cannot_be_served_ends_the_role_before_anything_is_sent(tmp_path: Path) -> None:
    apart = clinics(tmp_path, 3, 'kind = "lattice"\nopening = "committee"', rounds=1)
    order, engine = order_of(apart), FakeEngine()
    role = apart.roles[0]
    path = apart.folder_of(role) / "site.toml"
    token = apart.folder_of(role) / "live.token"
    token.write_text("short")
    token.chmod(0o600)
    path.write_text(path.read_text() + f'{ASKS}token = "live.token"\n')
    with pytest.raises(InputError, match="holds no token"):
        site_role(apart, role, order, engine).play()
    assert not engine.seen
    assert read_outcome(outcome_path(runs_of(apart, role), order.run_id)).kind == "InputError"


def test_a_defect_that_ends_the_watching_is_told_in_the_runs_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The role goes on, and its site learns that the page stood still."""

    def defective(*_: object) -> None:
        raise ZeroDivisionError("row 17")

    sites = make_sites(tmp_path)
    ask_for_page(sites, "north")
    loop, run_id = sites.load("north"), new_run_id()
    monkeypatch.setattr("hekat.live.watch.advance", defective)
    with role_page(ShownRole(loop.job, loop.site, "north", run_id, loop.runs)) as progress:
        directory = create_named_run_directory(loop.runs, run_id)
        with logged_run(directory, loop.job.name, ["north"], "averaging") as events:
            progress.open_folder(directory.path)
            events.write("finished", rounds=2)
    lines = [json.loads(line) for line in (directory.path / EVENTS_FILE).read_text().splitlines()]
    assert [line["event"] for line in lines] == ["started", "finished", "unwatched"]
    assert {name: lines[-1][name] for name in lines[-1].keys() - {"time"}} == {
        "event": "unwatched",
        "error": "ZeroDivisionError",
    }
    assert not list(tmp_path.rglob("*.live"))


def test_nothing_is_shown_silently_by_a_launcher_that_has_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sites = make_sites(tmp_path)
    ask_for_page(sites, "aggregator")
    monkeypatch.setattr(role_display, "_brought", [])
    with pytest.raises(HekatError, match="nothing here serves it"):
        play(sites)


@pytest.mark.parametrize("module", ["hekat.nvflare", "hekat.flower"])
def test_the_public_modules_bring_the_page_and_load_nothing_of_it(module: str) -> None:
    said = (
        f"import sys, {module}; from hekat.launch import role_display as shown; "
        "print(len(shown._brought), *(name in sys.modules for name in ('uvicorn', 'hekat.live.watch', 'numpy')))"
    )
    answer = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, timeout=WITHIN_S, check=True)
    assert answer.stdout.split() == ["1", "False", "False", "False"]
