"""`hekat run --live` and its companions: what is refused before a run, and how the page ends with it."""

from __future__ import annotations

import http.client
import json
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from hekat.cli.exit_codes import ExitCode
from hekat.cli.run.progress import RunProgress
from hekat.live.figures import load_role
from hekat.live.web.token import make_token

WITHIN_S = 60


@pytest.fixture
def token(tmp_path: Path) -> str:
    made, path = make_token(), tmp_path / "token"
    path.write_text(made)
    path.chmod(0o600)
    return made


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch, token: str) -> list[Callable[[], list[dict]]]:
    """For each server that starts, what a reader attached from the start is told, waited for to its end."""
    server = pytest.importorskip("hekat.live.web.server", reason="needs hekat[live]")
    found: list[Callable[[], list[dict]]] = []
    enter = server.LiveServer.__enter__

    def attach(self):
        started, told = enter(self), []
        thread = Thread(target=lambda: told.extend(read_states(self.port, token)))
        thread.start()

        def wait() -> list[dict]:
            thread.join(WITHIN_S)
            assert not thread.is_alive()
            return told

        found.append(wait)
        return started

    monkeypatch.setattr(server.LiveServer, "__enter__", attach)
    return found


def read_states(port: int, token: str) -> list[dict]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WITHIN_S)
    connection.request("GET", "/events", headers={"Authorization": f"Bearer {token}"})
    lines = connection.getresponse().read().decode().splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]


def live_options(tmp_path: Path) -> tuple[object, ...]:
    return "--live", "--live-token", tmp_path / "token"


@pytest.mark.long
def test_a_reader_sees_the_run_to_its_end_and_the_token_nowhere(workplace, readers, token, tmp_path) -> None:
    answer = workplace.run(*live_options(tmp_path))
    assert answer.code == 0, answer.err
    (wait,) = readers
    last = wait()[-1]
    assert last["status"] == "finished"
    assert [(one["phase"], one["number"]) for one in last["rounds"]][-2:] == [("encrypted", 1), ("encrypted", 2)]
    assert {one["presence"] for one in last["participants"]} == {"ended"}
    assert {one["role"] for one in last["roles"]} == {"north", "east", "south", "hub"}
    assert all(one["sent_bytes"] > 0 and one["seconds"] for one in last["roles"])
    assert last["plain_bytes"] == 4 * 4 * 2  # three columns and a bias, two rounds
    assert {one["how"] for one in last["seen"]} >= {"disclosed", "public"}
    assert last["ledger"][0]["direction"] == "closed"
    assert token not in answer.out + answer.err
    assert [path for path in workplace.runs.rglob("*") if path.is_file() and token.encode() in path.read_bytes()] == []


@pytest.mark.long
def test_the_page_knows_tests_that_training_sees(workplace, readers, token, tmp_path) -> None:
    """Metrics of rows that were trained on must not stand there as those of a test set."""
    workplace.edit("job.toml", r"classes =", 'test_data = "seen"\nclasses =')
    site = workplace.folder / "site.toml"
    for file, known in (("north.csv", True), ("new.csv", False)):
        if not known:
            header, *lines = (workplace.folder / "north.csv").read_text().splitlines()
            changed = [f"0.12345,{line.partition(',')[2]}" for line in lines]
            (workplace.folder / file).write_text("\n".join([header, *changed]) + "\n")
        before = site.read_text()
        site.write_text(f'{before}\n[common_data.seen]\nsource = "csv"\npath = "{file}"\nlabel = "ill"\n')
        answer = workplace.run(*live_options(tmp_path))
        assert answer.code == 0, answer.err
        last = readers[-1]()[-1]
        assert last["rounds"][-1]["metrics"]
        assert last["run"]["tests_trained_on"] is known
        site.write_text(before)


@pytest.mark.long
def test_what_the_page_shows_holds_no_value_of_a_party(workplace, readers, token, tmp_path) -> None:
    """A planted number in one party's rows, and every row count, are in nothing that goes out."""
    rows = (workplace.folder / "east.csv").read_text().replace("\n", "\n", 1).splitlines()
    rows += ["717.2737,717.2737,717.2737,yes"] * 17
    (workplace.folder / "east.csv").write_text("\n".join(rows) + "\n")
    assert workplace.run(*live_options(tmp_path)).code == 0
    told = json.dumps([{**state, "ledger": []} for state in readers[0]()])
    assert "717.27" not in told
    assert "row_count" not in told
    assert f'"{len(rows) - 1}"' not in told


def test_the_page_ends_with_an_interrupted_run(workplace, readers, token, tmp_path, monkeypatch) -> None:
    def interrupt(self, phase: str, step_count: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(RunProgress, "begin", interrupt)  # in the main thread, as by Ctrl-C
    assert workplace.run(*live_options(tmp_path)).code == ExitCode.INTERRUPTED
    last = readers[0]()[-1]
    assert (last["status"], last["stopped_by"]) == ("stopped", "KeyboardInterrupt")


@pytest.mark.long
def test_a_defect_of_the_page_is_told_and_ends_no_run(workplace, readers, token, tmp_path, monkeypatch) -> None:
    def fail(state, fact):
        raise KeyError("planted")

    monkeypatch.setattr("hekat.live.watch.advance", fail)
    answer = workplace.run(*live_options(tmp_path))
    assert answer.code == 0
    assert "the run was not watched to its end: KeyError" in answer.out


def test_a_set_intersection_and_its_work_are_shown(workplace, readers, token, tmp_path) -> None:
    for party in ("north", "east"):
        (workplace.folder / f"{party}.csv").write_text("id,age\n" + "".join(f"p{n},{n}\n" for n in range(20)))
    (workplace.folder / "job.toml").write_text(
        'format = 1\nname = "common"\nprotocol = "psi"\nguest = "north"\nhosts = ["east"]\ndata = "people"\n'
        "[intersection]\n"
    )
    (workplace.folder / "site.toml").write_text(
        "format = 1\n"
        + "".join(f'[party.{p}.data.people]\nsource = "csv"\npath = "{p}.csv"\nid = "id"\n' for p in ("north", "east"))
    )
    answer = workplace.run(*live_options(tmp_path))
    assert answer.code == 0, answer.err
    last = readers[0]()[-1]
    assert (last["run"]["protocol"], last["run"]["central"], last["status"]) == ("psi", None, "finished")
    assert last["plain_bytes"] is None
    assert last["works"]


@pytest.mark.long
def test_roles_in_processes_show_their_figures_on_one_page(workplace, readers, token, tmp_path) -> None:
    answer = workplace.run("--processes", *live_options(tmp_path))
    assert answer.code == 0, answer.err
    last = readers[0]()[-1]
    assert last["run"]["played"] == "at once"
    assert {one["role"] for one in last["roles"]} == {"north", "east", "south", "hub"}
    assert all(one["memory_bytes"] > 1 << 20 and one["cpu_s"] > 0 and one["sent_bytes"] > 0 for one in last["roles"])
    assert last["ledger_lines"] > 100


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--dry-run", "--live"), "nothing to watch"),
        (("--dry-run", "--traces"), "nothing to watch"),
        (("--live-token", "token"), "--live-token without --live"),
        (("--figures", "f.json"), "--figures without --role"),
        (("--live",), "a terminal, or --live-token FILE"),
    ],
)
def test_options_that_go_nowhere_are_refused_before_the_run(workplace, options, said) -> None:
    if options == ("--live",):
        pytest.importorskip("hekat.live.web.server", reason="needs hekat[live]")
    answer = workplace.run(*options)
    assert answer.code == ExitCode.REFUSED
    assert said in answer.err
    assert not workplace.runs.exists()


@pytest.mark.parametrize(
    ("module", "options", "cure"),
    [
        ("uvicorn", ("--live",), "hekat[live]"),
        ("opentelemetry", ("--traces",), "hekat[traces]"),
        ("mlflow", ("--mlflow", "http://127.0.0.1:9"), "hekat[mlflow]"),
    ],
)
def test_without_the_extra_the_cure_is_said_and_nothing_begins(workplace, monkeypatch, module, options, cure) -> None:
    for name in [
        name for name in sys.modules if name.split(".")[0] == module or name.startswith("hekat.live.web.server")
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    answer = workplace.run(*options)
    assert answer.code == ExitCode.REFUSED
    assert f"pip install '{cure}'" in answer.err
    assert not workplace.runs.exists()


def test_figures_of_one_role_are_of_their_file(tmp_path) -> None:
    assert load_role(tmp_path / "none.json", "north") is None
