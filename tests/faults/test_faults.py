"""Real processes over a faulty relay: each fault ends in a right result or a named error, and never in a hang.

The table in docs/explanation/faults.md says the same in words.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest
from tests.channel.mailbox.fake_relay import LIMIT_S
from tests.faults.faulty_runs import (
    AT_STEP,
    CLOCK_OFF,
    FULL_DISK_AT_STEP,
    LOST_AFTER_S,
    OTHER_RELEASE,
    FaultyRun,
    hospitals,
)

from hekat.channel import PartyKey
from hekat.channel.dropout_notice import FINISHED_REASON, sign_dropout
from hekat.channel.mailbox.departures import write_notice
from hekat.channel.mailbox.parcel import DATA, EXPELLED, FINISHED, LEFT, Item, Parcel, decode_parcel

PARTIES = ("north", "east", "south", "west", "middle")
ROUND = r"round-2/upload-\d+/"
# Where a role is in the second round, or before the first, or after the last.
PARTY_STEPS = {
    "set-up": "hekat/hello",
    "deal": f"{ROUND}dealt",
    "share check": f"{ROUND}checked",
    "upload": f"{ROUND}block",
    "statement": f"{ROUND}statement",
    "release": f"{ROUND}released",
    "sum": f"{ROUND}opened",
    "end": "final/model",
}
HUB_STEPS = {
    "set-up": "hekat/hello",
    "begin": "round-2/begin",
    "share check": f"{ROUND}dealers",
    "included": f"{ROUND}included",
    "sum": f"{ROUND}sum-block",
    "outcome": f"{ROUND}outcome",
    "end": "round-2/agreed",
}
A_MINUTE_S = 60.0
# In the quick suite; the others are long.
QUICK = ("upload",)

pytestmark = pytest.mark.waits


def _steps(steps: dict[str, str]) -> list:
    return [
        pytest.param(step, id=name, marks=() if name in QUICK else pytest.mark.long) for name, step in steps.items()
    ]


def _check_all_agree(run: FaultyRun, ended, lost: str = "") -> None:
    """All but `lost` ended well, and the parties have one model."""
    told = {role: (one.code, one.told.get("error")) for role, one in ended.items() if role != lost}
    assert told == dict.fromkeys(told, (0, None))
    assert len({run.model_of(party) for party in PARTIES if party != lost}) == 1


def _check_refused(ended, *words: str) -> None:
    """Every role ended with exit code 2 and an error that has one of the words."""
    for role, one in ended.items():
        assert one.code == 2, (role, one)
        assert any(word in one.told["error"] for word in words), (role, one.told["error"])


@pytest.fixture(scope="module")
def expected(fork, tmp_path_factory) -> FaultyRun:
    """A run without faults."""
    run = hospitals(tmp_path_factory.mktemp("expected"))
    _check_all_agree(run, run.play(fork, may_be_lost=PARTIES))
    return run


# --- processes that end or stand still ---------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("step", _steps(PARTY_STEPS))
def test_a_party_killed_is_lost_by_name_and_the_others_go_on(fork, tmp_path: Path, step: str) -> None:
    run = hospitals(tmp_path)
    run.apart.preludes["east"] = AT_STEP.format(step=step, signal="SIGKILL")
    run.first_contact_s = LOST_AFTER_S
    ended = run.play(fork, may_be_lost=PARTIES)
    assert ended.pop("east").code == -9
    if step == PARTY_STEPS["set-up"]:
        # A session needs all parties. Whoever waited long enough names east; others may hear of that role's end.
        _check_refused(ended, "'east'", "without a signed word of its own")
        assert any("'east'" in one.told["error"] for one in ended.values())
    else:
        _check_all_agree(run, ended, "east")


@pytest.mark.parametrize("step", _steps(HUB_STEPS))
def test_an_aggregator_killed_ends_the_run_and_every_party_names_it(fork, tmp_path: Path, step: str) -> None:
    run = hospitals(tmp_path)
    run.apart.preludes["hub"] = AT_STEP.format(step=step, signal="SIGKILL")
    run.first_contact_s = LOST_AFTER_S
    ended = run.play(fork, may_be_lost=PARTIES)
    assert ended.pop("hub").code == -9
    if step == HUB_STEPS["end"]:
        # Some parties heard the end, and finish; the others name it.
        assert {one.code for one in ended.values()} <= {0, 2}
        ended = {role: one for role, one in ended.items() if one.code}
    _check_refused(ended, "'hub'")


@pytest.mark.long
def test_two_members_killed_end_a_run_that_bears_one(fork, tmp_path: Path) -> None:
    run = hospitals(tmp_path)
    for party in ("east", "south"):
        run.apart.preludes[party] = AT_STEP.format(step=PARTY_STEPS["release"], signal="SIGKILL")
    ended = run.play(fork, may_be_lost=PARTIES)
    assert {ended.pop(party).code for party in ("east", "south")} == {-9}
    _check_refused(ended, "'hub' stopped", "too few", "'east'", "'south'", "east", "south")


@pytest.mark.long
@pytest.mark.parametrize(("role", "after_s"), [("east", 0.0), ("hub", 0.0), ("east", A_MINUTE_S), ("hub", A_MINUTE_S)])
def test_a_process_that_stands_still_for_less_than_the_time_of_a_loss_is_waited_for(
    fork, tmp_path: Path, expected: FaultyRun, role: str, after_s: float
) -> None:
    run = hospitals(tmp_path)
    run.lost_after_s = LIMIT_S + after_s
    step = PARTY_STEPS["upload"] if role == "east" else HUB_STEPS["included"]
    run.apart.preludes[role] = AT_STEP.format(step=step, signal="SIGSTOP")
    ended = run.play(fork, may_be_lost=PARTIES, meanwhile=lambda processes: _wake(processes, role, after_s))
    _check_all_agree(run, ended)
    assert run.model_of("north") == expected.model_of("north")


@pytest.mark.long
def test_a_process_that_stands_still_for_longer_is_lost_and_told_so_when_it_wakes(fork, tmp_path: Path) -> None:
    run = hospitals(tmp_path, rounds=4)
    run.apart.preludes["east"] = AT_STEP.format(step=PARTY_STEPS["upload"], signal="SIGSTOP")
    ended = run.play(fork, may_be_lost=PARTIES, meanwhile=lambda processes: _wake(processes, "east", 4 * LOST_AFTER_S))
    stopped = ended.pop("east")
    assert stopped.code == 2
    assert "'hub'" in stopped.told["error"]
    _check_all_agree(run, ended, "east")


def _wake(processes, role: str, after_s: float = 0.0) -> None:
    """Let the role's process go on, once it has stood still for so long."""
    stat = Path("/proc") / str(processes._pids[role]) / "stat"
    deadline = time.monotonic() + 3 * LIMIT_S
    while stat.read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < deadline, "it never stood still"
        threading.Event().wait(0.02)
    threading.Event().wait(after_s)
    # Each later message of the step would stop it again.
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] in "TSRD":
        if stat.read_text().rpartition(")")[2].split()[0] == "T":
            os.kill(processes._pids[role], signal.SIGCONT)
        threading.Event().wait(0.02)
        if processes.poll()[role] is not None:
            return


# --- networks ----------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(
    "relay",
    [
        pytest.param({"drop": 0.05}, id="drops 5 %"),
        pytest.param({"double": 0.5}, id="doubles"),
        pytest.param({"delay": 0.02}, id="delays by 2 s"),
    ],
)
def test_a_bad_network_changes_no_bit(fork, tmp_path: Path, expected: FaultyRun, relay) -> None:
    run = hospitals(tmp_path, **relay)
    _check_all_agree(run, run.play(fork, may_be_lost=PARTIES))
    assert run.model_of("north") == expected.model_of("north")


@pytest.mark.long
def test_a_partition_that_heals_in_time_changes_no_bit(fork, tmp_path: Path, expected: FaultyRun) -> None:
    run = hospitals(tmp_path)
    run.lost_after_s = LIMIT_S

    def cut_and_heal(processes) -> None:
        _wait_for(run, PARTY_STEPS["deal"])
        run.relay.cut |= {"east", "south"}
        threading.Event().wait(LOST_AFTER_S)
        run.relay.cut.clear()

    _check_all_agree(run, run.play(fork, may_be_lost=PARTIES, meanwhile=cut_and_heal))
    assert run.model_of("north") == expected.model_of("north")


@pytest.mark.long
def test_a_party_behind_a_partition_is_lost_and_ends_by_itself(fork, tmp_path: Path) -> None:
    run = hospitals(tmp_path)

    def cut(processes) -> None:
        _wait_for(run, PARTY_STEPS["deal"])
        run.relay.cut.add("east")

    ended = run.play(fork, may_be_lost=PARTIES, meanwhile=cut)
    alone = ended.pop("east")
    assert alone.code == 2
    assert "nothing delivered to 'hub'" in alone.told["got"]
    _check_all_agree(run, ended, "east")


def _wait_for(run: FaultyRun, step: str) -> None:
    deadline, looked_at = time.monotonic() + 3 * LIMIT_S, 0
    while True:
        fresh = run.relay.seen[looked_at:]
        looked_at += len(fresh)
        if any(re.fullmatch(step, item.step) for _, _, data in fresh for item in decode_parcel(data).items):
            return
        assert time.monotonic() < deadline, "the run never came there"
        threading.Event().wait(0.01)


# --- who is hostile ----------------------------------------------------------------------------------------


def _altering(step: str, alter) -> object:
    """Changes the payloads of one step's messages, and leaves all else as it is."""

    def change(sender: str, to: str, data: bytes) -> bytes:
        parcel = decode_parcel(data)
        items = [
            Item(item.sequence, item.kind, item.step, alter(item.payload))
            if item.kind == DATA and sender == "east" and to == "hub" and re.fullmatch(step, item.step)
            else item
            for item in parcel.items
        ]
        return Parcel(parcel.run_id, sender, to, parcel.instance, items).encode()

    return change


@pytest.mark.long
@pytest.mark.parametrize(
    "alter",
    [
        pytest.param(lambda payload: payload[:-1] + bytes([payload[-1] ^ 1]), id="a flipped bit"),
        pytest.param(lambda payload: payload[: len(payload) // 2], id="half of it"),
    ],
)
def test_a_relay_that_alters_an_upload_makes_that_party_lost_and_no_wrong_sum(fork, tmp_path: Path, alter) -> None:
    run = hospitals(tmp_path)
    run.relay.change = _altering(PARTY_STEPS["upload"], alter)
    ended = run.play(fork, may_be_lost=PARTIES)
    assert ended.pop("east").code == 2
    _check_all_agree(run, ended, "east")


@pytest.mark.long
def test_a_relay_that_hands_one_partys_upload_over_as_anothers_gets_it_refused(fork, tmp_path: Path) -> None:
    """Whoever of north and east uploads second: the hub gets, as that one's, the bytes of the first."""
    run = hospitals(tmp_path)
    kept: dict[str, tuple[str, bytes]] = {}
    second: set[str] = set()

    def hand_over(sender: str, to: str, data: bytes) -> bytes:
        parcel = decode_parcel(data)
        items = []
        for item in parcel.items:
            if item.kind == DATA and sender in ("north", "east") and re.fullmatch(PARTY_STEPS["upload"], item.step):
                first, payload = kept.setdefault(item.step, (sender, item.payload))
                if sender != first:
                    second.add(sender)
                    item = Item(item.sequence, item.kind, item.step, payload)
            items.append(item)
        return Parcel(parcel.run_id, sender, to, parcel.instance, items).encode()

    run.relay.change = hand_over
    ended = run.play(fork, may_be_lost=PARTIES)
    (altered,) = second
    assert ended.pop(altered).code == 2
    _check_all_agree(run, ended, altered)


@pytest.mark.long
def test_a_replayed_session_is_refused_by_all(fork, tmp_path: Path) -> None:
    """The relay plays the parcels of an earlier run of the same job and name back to one party."""
    (tmp_path / "first").mkdir()
    first = hospitals(tmp_path / "first")
    first.play(fork, may_be_lost=PARTIES)
    old = [data for sender, to, data in first.relay.seen if (sender, to) == ("hub", "east")]
    run = FaultyRun(first.apart, type(first.relay)(tmp_path / "relay"))
    run.first_contact_s = LOST_AFTER_S
    for role in first.apart.roles:
        (first.apart.folder_of(role) / "runs").rename(first.apart.folder_of(role) / "runs-before")
    run.relay.change = lambda sender, to, data: old.pop(0) if (sender, to) == ("hub", "east") and old else data
    ended = run.play(fork, may_be_lost=PARTIES)
    assert ended["east"].code == 2
    assert all(one.code == 2 for one in ended.values())


def test_planted_values_are_in_no_traffic_file_or_log(expected: FaultyRun) -> None:
    """Every run of these tests is searched when it ends; here is seen that there is something to find."""
    assert len(expected.planted()) == 5 * len(PARTIES)
    expected.relay.seen.append(("north", "hub", b"a row: " + expected.planted()[0]))
    with pytest.raises(AssertionError):
        expected.check_nothing_leaked()
    expected.relay.seen.pop()


@pytest.mark.long
@pytest.mark.parametrize("kind", [LEFT, EXPELLED, FINISHED])
def test_a_relay_that_forges_an_end_gets_no_wrong_sum_and_blames_nobody_else(fork, tmp_path: Path, kind: str) -> None:
    """It tells south that north left or returned, in north's name, or that the hub gave up on north, in the hub's.

    South may say before it ends that no share came from north, and then both are lost: seven parties open without two.
    """
    run = hospitals(tmp_path, 7)
    parties = [role for role in run.apart.roles if role != "hub"]
    run.lost_after_s = LIMIT_S
    sender = "hub" if kind == EXPELLED else "north"
    reason = FINISHED_REASON if kind == FINISHED else "slow"
    word = write_notice(sign_dropout(PartyKey.generate(), bytes(32), sender, "north", reason))

    def forge(by: str, to: str, data: bytes) -> bytes:
        parcel = decode_parcel(data)
        items = list(parcel.items)
        if (by, to) == (sender, "south") and any(item.step.startswith("round-2/") for item in items):
            # In the place of what north sent, or beside it: this kind counts out of its turn.
            items = [Item(item.sequence, kind, item.step, word) for item in items] if by == "north" else items
            items += [Item(1 << 40, EXPELLED, "x", word)] if kind == EXPELLED else []
        return Parcel(parcel.run_id, by, to, parcel.instance, items).encode()

    run.relay.change = forge
    ended = run.play(fork, may_be_lost=parties)
    refused = {role: one.told["error"] for role, one in ended.items() if one.code}
    assert refused.keys() <= {"south", "north"}, refused
    assert all(f"in the name of {sender!r}" in error or "gave up on" in error for error in refused.values()), refused
    assert all(ended[role].code == 2 for role in refused)
    assert len({run.model_of(party) for party in parties if party not in refused}) == 1


@pytest.mark.long
@pytest.mark.parametrize("role", ["east", "hub"])
def test_a_role_of_another_release_is_told_so_by_name(fork, tmp_path: Path, role: str) -> None:
    run = hospitals(tmp_path)
    run.apart.preludes[role] = OTHER_RELEASE
    run.first_contact_s = LOST_AFTER_S
    ended = run.play(fork, may_be_lost=PARTIES)
    _check_refused({role: ended.pop(role)}, "another release of Hekat", "another release plays here")
    for one in ended.values():
        assert one.code == 2
        assert "another release" in one.told["error"] + str(one.told.get("got"))


@pytest.mark.long
def test_a_second_process_of_a_party_is_refused_and_the_run_goes_on(fork, tmp_path: Path, expected: FaultyRun) -> None:
    run = hospitals(tmp_path)
    run.lost_after_s = A_MINUTE_S
    again = run.apart.folder_of("east again")
    is_refused = threading.Event()

    def hold_releases(sender: str, to: str, parcel: bytes) -> bytes | None:
        """The run cannot end before the second process is refused: senders repeat what nobody took."""
        holds = any(re.fullmatch(PARTY_STEPS["release"], item.step) for item in decode_parcel(parcel).items)
        return None if holds and not is_refused.is_set() else parcel

    run.relay.change = hold_releases

    def start_twice(processes) -> None:
        _wait_for(run, PARTY_STEPS["deal"])
        install = "import tests.faults.parcel_post as post\n"
        install += "post.home_of = lambda relay, role: relay.with_name('again')\n"
        install += f"post.install({run.apart.roles!r}, {PARTIES!r}, {A_MINUTE_S}, {A_MINUTE_S})\n"
        # As a machine restored from a copy: with a state, and so with locks, of its own.
        east = run.apart.folder_of("east")
        shutil.copytree(east, again, ignore=shutil.ignore_patterns("runs"))
        words = [word.replace(str(east), str(again)) for word in run.apart._command("east", run.relay.path)]
        processes.start("east again", again, words, install)
        deadline = time.monotonic() + 3 * LIMIT_S
        while processes.poll()["east again"] is None:
            assert time.monotonic() < deadline, "the second process is not refused"
            threading.Event().wait(0.01)
        is_refused.set()

    ended = run.play(fork, may_be_lost=PARTIES, meanwhile=start_twice)
    refused = ended.pop("east again")
    assert refused.code == 2
    assert "role 'east' is played already" in refused.told["error"]
    _check_all_agree(run, ended)
    assert run.model_of("north") == expected.model_of("north")


# --- machines ----------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_party_whose_disk_is_full_leaves_by_name_and_the_others_go_on(fork, tmp_path: Path) -> None:
    run = hospitals(tmp_path, rounds=3)
    run.apart.preludes["east"] = FULL_DISK_AT_STEP.format(step=PARTY_STEPS["release"])
    ended = run.play(fork, may_be_lost=PARTIES)
    assert ended.pop("east").code == 2
    _check_all_agree(run, ended, "east")


@pytest.mark.long
def test_an_aggregator_whose_disk_is_full_ends_the_run_and_every_party_names_it(fork, tmp_path: Path) -> None:
    run = hospitals(tmp_path, rounds=3)
    run.apart.preludes["hub"] = FULL_DISK_AT_STEP.format(step=HUB_STEPS["outcome"])
    ended = run.play(fork, may_be_lost=PARTIES)
    _check_refused({"hub": ended.pop("hub")}, "hub.jsonl", "events.jsonl")
    _check_refused(ended, "'hub'")


@pytest.mark.long
@pytest.mark.parametrize("seconds", [3600, -3600])
def test_a_clock_an_hour_off_changes_no_bit(fork, tmp_path: Path, expected: FaultyRun, seconds: int) -> None:
    run = hospitals(tmp_path)
    run.apart.preludes["east"] = CLOCK_OFF.format(seconds=seconds)
    _check_all_agree(run, run.play(fork, may_be_lost=PARTIES))
    assert run.model_of("north") == expected.model_of("north")
