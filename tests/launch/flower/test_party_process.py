"""The party process at a real Unix socket, and what a hostile server, app or neighbour could ask of it."""

from __future__ import annotations

import errno
import socket
import stat
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from tests.launch.flower.loop_sites import LIMIT_S, TERMS, LoopSites, first_state, make_sites

from hekat.channel.mailbox import MailboxChannel
from hekat.errors import ChannelError, HekatError, InputError, PolicyError, StateError, WireError
from hekat.job.approvals import revoke
from hekat.job.policy.refusals_ledger import find_refusal_ledgers
from hekat.job.site_file import load_site
from hekat.launch.flower.call import EXCHANGE, GIVE_UP, METRICS, UPDATE, Answer, Call
from hekat.launch.flower.courier import Courier
from hekat.launch.flower.party_process import PartyProcess
from hekat.launch.frames import Frame, receive_frame, send_frame
from hekat.state import new_run_id


@contextmanager
def serving(sites: LoopSites, role: str = "north", **settings) -> Iterator[tuple[Path, PartyProcess]]:
    path = sites.folder / f"{role}.sock"
    process = PartyProcess(sites.load(role), path, **{"idle_s": LIMIT_S, **settings})
    thread = threading.Thread(target=process.serve, daemon=True)
    thread.start()
    try:
        yield path, process
    finally:
        process.stop()
        thread.join(LIMIT_S)
        assert not thread.is_alive()


def courier(sites: LoopSites, path: Path, run_id: str, **said) -> Courier:
    return Courier(path, Call(EXCHANGE, run_id, sites.job.digest.hex(), **said))


def refusals(sites: LoopSites, role: str = "north") -> str:
    return "".join(path.read_text() for path in find_refusal_ledgers(sites.folder / role / "state"))


@pytest.fixture
def sites(tmp_path: Path) -> LoopSites:
    return make_sites(tmp_path)


def test_the_first_courier_begins_the_run_and_takes_what_the_role_sent(sites: LoopSites) -> None:
    with serving(sites) as (path, _):
        answer = courier(sites, path, new_run_id()).exchange(first_state())
        assert (answer.party, answer.is_over, answer.has_start) == ("north", False, True)
        assert {to for to, _ in answer.parcels} == {"lake", "county", "aggregator"}


def test_the_socket_is_for_its_owner_alone(sites: LoopSites) -> None:
    with serving(sites) as (path, _):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists()


def test_a_group_may_be_let_in_and_nobody_else(sites: LoopSites) -> None:
    with serving(sites, group="root") as (path, _):
        assert stat.S_IMODE(path.stat().st_mode) == 0o660


def test_a_group_that_is_none_is_refused(sites: LoopSites) -> None:
    with pytest.raises(InputError, match="no such group"):
        PartyProcess(sites.load("north"), sites.folder / "n.sock", group="no-such-group-here")
    assert not (sites.folder / "n.sock").exists()


def test_a_second_process_at_one_socket_is_refused_and_a_left_over_one_replaced(sites: LoopSites) -> None:
    with serving(sites) as (path, _), pytest.raises(StateError, match="is taken"):
        PartyProcess(sites.load("north"), path)
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(str(path))
    with serving(sites) as (path, _):
        assert courier(sites, path, new_run_id()).exchange().party == "north"


def test_a_file_at_the_sockets_place_is_left_alone(sites: LoopSites) -> None:
    (sites.folder / "n.sock").write_text("a file")
    with pytest.raises(StateError, match="another file"):
        PartyProcess(sites.load("north"), sites.folder / "n.sock")
    assert (sites.folder / "n.sock").read_text() == "a file"


# --- what a hostile SuperLink, ServerApp or ClientApp could ask -----------------------------------------------------


def test_a_second_run_is_refused_and_the_refusal_kept(sites: LoopSites) -> None:
    with serving(sites) as (path, _):
        first = new_run_id()
        courier(sites, path, first).exchange()
        with pytest.raises(PolicyError, match="plays one run"):
            courier(sites, path, new_run_id()).exchange()
        assert courier(sites, path, first).exchange().party == "north"
    assert "one run of the party process" in refusals(sites)


def test_a_job_with_other_parties_keys_or_rounds_is_another_job_and_refused(sites: LoopSites) -> None:
    with serving(sites) as (path, _):
        for claimed in ("0" * 64, "not a digest", ""):
            with pytest.raises(PolicyError, match="another job"):
                Courier(path, Call(EXCHANGE, new_run_id(), claimed)).exchange()
    assert "the job of the party process" in refusals(sites)
    assert not sites.runs("north").exists()


def test_no_process_begins_for_a_job_that_the_site_has_not_approved(sites: LoopSites) -> None:
    revoke(load_site(sites.site_file("north")), "north", sites.job.digest)
    with pytest.raises(PolicyError, match="not approved"):
        sites.load("north")
    assert "approval" in refusals(sites)


def test_an_approval_that_was_taken_back_while_the_process_waited_begins_no_run(sites: LoopSites) -> None:
    with serving(sites) as (path, _):
        revoke(load_site(sites.site_file("north")), "north", sites.job.digest)
        with pytest.raises(PolicyError, match="not approved"):
            courier(sites, path, new_run_id()).exchange(first_state())
        assert "approval" in refusals(sites)
        assert not sites.runs("north").exists()
        sites.approve()
        assert courier(sites, path, new_run_id()).exchange(first_state()).party == "north"


def test_a_changed_letter_of_the_job_is_not_approved(sites: LoopSites) -> None:
    sites.job_path.write_text(sites.job_path.read_text().replace("rounds = 2", "rounds = 3"))
    with pytest.raises(PolicyError, match="not approved"):
        sites.load("north")


@pytest.mark.parametrize(
    ("policy", "job", "line"),
    [
        ("", "server_learns_model = true", "policy.server_learns_model"),
        ("max_rounds = 1", "", "policy.max_rounds"),
        ("min_parties = 4", "", "policy.min_parties"),
        ('protocols = ["horizontal"]', "", "policy.protocols"),
        ("max_value_bits = 8", "", "policy.max_value_bits"),
        ("min_committee_members = 4", "", "policy.min_committee_members"),
        ("committee_members = []", "", "policy.committee_members"),
    ],
)
def test_a_site_forbids_what_its_policy_says(tmp_path: Path, policy: str, job: str, line: str) -> None:
    sites = make_sites(tmp_path, more=job)
    if policy:
        sites.add_policy("north", policy)
    with pytest.raises(PolicyError):
        sites.load("north")
    assert line in refusals(sites)


def test_a_site_may_let_the_server_learn_the_model(tmp_path: Path) -> None:
    sites = make_sites(tmp_path, more="server_learns_model = true")
    sites.add_policy("north", "server_learns_model = true")
    with serving(sites) as (path, _):
        assert courier(sites, path, new_run_id()).exchange().server_learns_model


def test_an_update_is_taken_only_when_the_loop_wants_it(sites: LoopSites) -> None:
    """A replayed message to train gives no second upload; none comes before the run has begun either."""
    with serving(sites) as (path, _):
        one = courier(sites, path, new_run_id())
        one.exchange(first_state())
        for round_number in (0, 1, 2):
            with pytest.raises(PolicyError, match="takes no such update"):
                one.update(round_number, first_state(), 10, TERMS)


def test_only_the_first_start_counts(sites: LoopSites) -> None:
    with serving(sites) as (path, process):
        one = courier(sites, path, new_run_id())
        one.exchange(first_state())
        one.exchange({"weight": np.full(3, 9.0)})
        assert process._run is not None
        assert process._run.desk._start is not None
        assert set(process._run.desk._start) == set(first_state())


def test_a_run_that_was_played_is_not_played_again(sites: LoopSites) -> None:
    run_id = new_run_id()
    for attempt in range(2):
        with serving(sites) as (path, _):
            answer = courier(sites, path, run_id).exchange(first_state())
            assert bool(attempt) == answer.is_over
            assert answer.kind == ("StateError" if attempt else "")


def test_the_name_of_a_run_is_no_path(sites: LoopSites) -> None:
    with serving(sites) as (path, _), pytest.raises(PolicyError, match="no run's name"):
        courier(sites, path, "../../elsewhere").exchange()


def ask_raw(path: Path, header: dict[str, Any], payload: bytes) -> Answer:
    """What the process answers to any frame."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(LIMIT_S)
        connection.connect(str(path))
        send_frame(connection, header, payload)
        return Answer.from_frame(receive_frame(connection))


@pytest.mark.parametrize(
    "header",
    [{}, {"asks": "exchange"}, {"asks": "key", "run_id": "x", "job": "y"}],
)
def test_what_is_no_call_is_refused_and_ends_nothing(sites: LoopSites, header: dict[str, str]) -> None:
    with serving(sites) as (path, _):
        assert "malformed" in ask_raw(path, header, b"noise").refusal
        assert courier(sites, path, new_run_id()).exchange().party == "north"


@pytest.mark.parametrize(
    "array",
    [
        ["w", "i4,(", [1], b"1234"],
        ["w", "O", [1], b"12345678"],
        ["w", "<f16", [1], b"1" * 16],
        ["w", "<M8[s]", [1], b"12345678"],
        ["w", "<f4", ["1"], b"1234"],
        ["w", "<f4", [True], b"1234"],
        ["w", "<f4", [-1, -1], b"1234"],
        ["w", "<f4", [0, 1 << 62, 1 << 62], b""],
        ["w", "<f4", [1] * 200, b"1234"],
        ["w", "<f4", [1 << 63], b"1234"],
        ["w", "<f4", [1], 4],
        ["w", "<f4", 1, b"1234"],
        [7, "<f4", [1], b"1234"],
        ["w", "<f4", [1]],
        7,
    ],
)
def test_an_array_that_is_none_ends_its_connection_and_not_the_process(sites: LoopSites, array: Any) -> None:
    with serving(sites) as (path, process):
        header, _ = Call(EXCHANGE, new_run_id(), sites.job.digest.hex()).to_frame()
        assert "malformed payload" in ask_raw(path, header, msgpack.packb([[], [array]])).refusal
        assert process._run is None
        assert courier(sites, path, new_run_id()).exchange(first_state()).has_start


@pytest.mark.parametrize(
    "said",
    [
        {"asks": METRICS, "kind": "owned"},
        {"asks": METRICS, "kind": ""},
        {"asks": GIVE_UP, "kind": "Value\x1b[2JError"},
        {"round": -1},
        {"parcels": [7]},
        {"asks": UPDATE, "terms": ""},
        {"asks": UPDATE, "terms": "A" * 64},
        {"terms": TERMS},
        {"lost": [7]},
        {"lost": ["lake"] * 2000},
    ],
)
def test_a_call_is_checked_field_by_field(sites: LoopSites, said: dict[str, Any]) -> None:
    with serving(sites) as (path, _):
        call = Call(**{"asks": EXCHANGE, "run_id": new_run_id(), "job": sites.job.digest.hex(), **said})
        assert "malformed" in ask_raw(path, *call.to_frame()).refusal
        assert courier(sites, path, new_run_id()).exchange().party == "north"


def test_a_defect_ends_the_connection_and_not_the_process(sites: LoopSites, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(sites) as (path, _):
        with monkeypatch.context() as patch:
            patch.setattr(Call, "from_frame", lambda frame: 1 / 0)
            with pytest.raises(PolicyError, match="ZeroDivisionError"):
                courier(sites, path, new_run_id()).exchange()
        assert courier(sites, path, new_run_id()).exchange().party == "north"


def _say_nothing(connection: socket.socket, is_over: threading.Event) -> None:
    is_over.wait(LIMIT_S)


def _stop_within_the_frame(connection: socket.socket, is_over: threading.Event) -> None:
    connection.sendall(struct.pack("<IQ", 10, 10) + b"1")
    is_over.wait(LIMIT_S)


@pytest.mark.parametrize("behave", [_say_nothing, _stop_within_the_frame])
def test_a_connection_that_hangs_holds_up_the_next_one_for_a_stated_time(sites: LoopSites, behave: Any) -> None:
    """One that always has more to send: tests/launch/test_frames.py."""
    with serving(sites, call_within_s=0.2) as (path, _), socket.socket(socket.AF_UNIX) as hanging:
        hanging.connect(str(path))
        is_over = threading.Event()
        thread = threading.Thread(target=behave, args=(hanging, is_over), daemon=True)
        thread.start()
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(LIMIT_S / 8)
                connection.connect(str(path))
                send_frame(connection, {})
                assert Answer.from_frame(receive_frame(connection)).refusal
        finally:
            is_over.set()
            thread.join(LIMIT_S)


@pytest.mark.parametrize("step", ["receive_frame", "send_frame"])
def test_a_call_for_which_memory_is_short_ends_its_connection_alone(
    sites: LoopSites, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def short(*_: object) -> None:
        raise MemoryError

    run_id = new_run_id()
    with serving(sites) as (path, _):
        with monkeypatch.context() as patch:
            patch.setattr(f"hekat.launch.flower.party_process.{step}", short)
            with pytest.raises(ChannelError, match="does not answer"):
                courier(sites, path, run_id).exchange()
        assert courier(sites, path, run_id).exchange().party == "north"


@pytest.mark.parametrize("parcel", [["lake", 1 << 40], ["lake", "text"], [7, b"1"], ["lake"], "lake"])
def test_an_answer_with_what_is_no_parcel_is_none(parcel: Any) -> None:
    """A number would be as many bytes of memory."""
    header, _ = Answer("north").to_frame()
    with pytest.raises(WireError, match="malformed answer"):
        Answer.from_frame(Frame(header, msgpack.packb([[parcel], None])))


def test_arrays_come_through_as_they_are() -> None:
    arrays = {
        "empty": np.zeros((0, 3), np.float32),
        "scalar": np.array(7, np.int64),
        "swapped": np.arange(3, dtype=">f8"),
        "strided": np.arange(6, dtype=np.float16).reshape(2, 3).T,
        "flags": np.array([True, False]),
    }
    back = Call.from_frame(Frame(*Call(EXCHANGE, "x", "y", arrays=arrays).to_frame())).arrays
    assert back is not None
    for name, values in arrays.items():
        np.testing.assert_array_equal(back[name], values)
        assert back[name].shape == values.shape
        assert back[name].flags.writeable
    with pytest.raises(InputError, match="cannot be handed over"):
        Call(EXCHANGE, "x", "y", arrays={"w": np.array(["text"])}).to_frame()


def test_who_is_lost_is_no_role_that_the_job_does_not_have(sites: LoopSites) -> None:
    with serving(sites) as (path, _):
        lost = ["north", "aggregator", "stranger", ""]
        assert not courier(sites, path, new_run_id(), lost=lost).exchange(first_state()).is_over


def test_what_a_lost_party_sent_comes_before_the_news_of_its_loss(
    sites: LoopSites, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one message: a role that waits for these parcels would give the party up before it has looked at them."""
    came: list[object] = []
    note_out_of_reach = MailboxChannel.note_out_of_reach

    def note(channel: MailboxChannel, peer: str) -> None:
        came.append(peer)
        note_out_of_reach(channel, peer)  # by which the process ends its role, too

    monkeypatch.setattr(MailboxChannel, "accept", lambda _, parcel: came.append(parcel))
    monkeypatch.setattr(MailboxChannel, "note_out_of_reach", note)
    with serving(sites) as (path, _):
        courier(sites, path, new_run_id(), lost=["lake"], parcels=[b"1", b"2"]).exchange(first_state())
        assert came[:3] == [b"1", b"2", "lake"]


def test_parcels_that_are_noise_change_nothing(sites: LoopSites) -> None:
    with serving(sites) as (path, _):
        answer = courier(sites, path, new_run_id(), parcels=[b"noise", b"\0" * 99]).exchange(first_state())
        assert not answer.is_over


def test_what_the_engines_code_raised_ends_the_role_without_its_text(sites: LoopSites) -> None:
    with serving(sites) as (path, _):
        one = courier(sites, path, new_run_id())
        one.exchange(first_state())
        # The role waits for others' hellos then, so its end comes once it reaches the loop.
        answer = one.give_up("ValueError")
        assert "row 17" not in answer.kind


def test_no_answer_of_the_process_holds_a_key(sites: LoopSites) -> None:
    with serving(sites) as (path, _):
        answer = courier(sites, path, new_run_id()).exchange(first_state())
    secret = (sites.folder / "north" / "party.key").read_bytes().split()[-1]
    header, payload = answer.to_frame()
    assert secret not in payload
    assert secret.decode(errors="replace") not in str(header)


def test_without_a_process_the_courier_says_so_without_a_path(sites: LoopSites) -> None:
    with pytest.raises(ChannelError, match="does not answer") as caught:
        courier(sites, sites.folder / "none.sock", new_run_id()).exchange()
    assert str(sites.folder) not in str(caught.value)


def test_a_process_that_nobody_comes_to_ends(sites: LoopSites) -> None:
    assert PartyProcess(sites.load("north"), sites.folder / "n.sock", idle_s=0.1).serve() is None


@pytest.mark.parametrize("protocol", ["vertical_linear", "vertical_trees"])
def test_only_jobs_of_loops_are_carried_and_others_pointed_to_nvflare(sites: LoopSites, protocol: str) -> None:
    sites.job_path.write_text(f'format = 2\nname = "v"\nprotocol = "{protocol}"\n')
    with pytest.raises(HekatError, match="HekatRecipe"):
        sites.load("north")


def test_a_job_without_keys_or_with_two_parties_is_refused(tmp_path: Path) -> None:
    sites = make_sites(tmp_path)
    text = sites.job_path.read_text()
    sites.job_path.write_text(text[: text.index("[party_keys]")])
    with pytest.raises(HekatError, match="names no party keys"):
        sites.load("north")
    sites.job_path.write_text(text.replace('["north", "lake", "county"]', '["north", "lake"]'))
    with pytest.raises(HekatError, match="two parties learn"):
        sites.load("north")


def test_another_sites_key_plays_no_part(sites: LoopSites) -> None:
    (sites.folder / "north" / "party.key").unlink()
    sites.keys["lake"].save(sites.folder / "north" / "party.key")
    with pytest.raises(HekatError, match="not the key in the job"):
        sites.load("north")


def test_calls_survive_their_frames(sites: LoopSites) -> None:
    call = Call(
        "update", new_run_id(), "a" * 64, 3, 7, "k", True, TERMS, ["lake"], {"loss": 0.5}, [b"1", b""], first_state()
    )
    header, payload = call.to_frame()
    back = Call.from_frame(Frame(header, payload))
    assert replace(back, arrays=None) == replace(call, arrays=None)
    for name, values in first_state().items():
        np.testing.assert_array_equal(back.arrays[name], values)
        assert back.arrays[name].dtype == values.dtype


def test_a_socket_that_answers_with_anything_but_that_nobody_listens_stays(
    sites: LoopSites, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user's socket, of mode 600, answers with EACCES."""
    path = sites.folder / "theirs.sock"
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.bind(str(path))
        monkeypatch.setattr(socket.socket, "connect_ex", lambda *_: errno.EACCES)
        with pytest.raises(StateError):
            PartyProcess(sites.load("north"), path)
    assert path.exists()


def test_a_files_error_reaches_no_server_with_its_path(sites: LoopSites, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise StateError(f"{sites.folder}/runs/metrics.jsonl could not be written")

    monkeypatch.setattr("hekat.launch.flower.party_run.PartyRun.note_metrics", full)
    with serving(sites) as (path, _):
        one = courier(sites, path, new_run_id())
        one.exchange()
        with pytest.raises(HekatError) as refused:
            one.note("train", 1, {"loss": 1.0})
    assert str(sites.folder) not in str(refused.value)
    assert "StateError" in str(refused.value)
