"""The draw of members: bound to what was committed, fair to each party, not in the hands of a job's writer."""

from __future__ import annotations

import hashlib
import stat
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from hekat.errors import HekatError, InputError, ProtocolError, StateError
from hekat.protocol.secure_sum.masked.opening.committee import (
    deal,
    form_committee,
    open_sum,
    read_share,
    threshold_of,
)
from hekat.protocol.secure_sum.masked.opening.member_draw import commitment_of, draw_members, draw_names, list_digest_of
from hekat.protocol.secure_sum.masked.opening.member_record import MemberRecord
from hekat.protocol.secure_sum.masked.opening.share_keys import ShareKeys
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext

JOB = bytes(range(32))
HONEST = tuple(f"clinic-{number}" for number in range(13))
FRIENDS = tuple(f"friend-{number}" for number in range(7))
COEFFICIENTS = np.random.default_rng(5).integers(-21, 22, 64).astype(np.int8)


def word(name: str, draw: int = 0) -> bytes:
    return hashlib.sha256(f"{name} {draw}".encode()).digest()


def opened_by(members: tuple[str, ...], parties: tuple[str, ...], colluding: tuple[str, ...]) -> bool:
    """Whether the colluding parties, with what one dealer gives them, read its secret alone."""
    committee = form_committee(parties, members)
    context = UploadContext(b"s" * 32, 1, "round-1", "A16-16")
    dealing = deal(committee, context, "clinic-0", COEFFICIENTS, ShareKeys.draw(7, 5))
    shares = {
        committee.point_of(name): read_share(
            committee,
            context,
            "clinic-0",
            name,
            dealing.messages[name],
            dealing.offset,
            dealing.digests[members.index(name)],
            64,
        )[:64]
        for name in members
        if name in colluding
    }
    try:
        found, _ = open_sum(shares, committee.threshold, 1, 64)
    except ProtocolError:
        return False
    return bool(np.array_equal(found, COEFFICIENTS))


def test_a_writer_who_names_friends_first_had_the_committee_and_has_it_no_more() -> None:
    """Seven friends of twenty: as the first seven they open every single update; of drawn members five hardly ever."""
    parties = (*FRIENDS, *HONEST)
    assert opened_by(parties[:7], parties, FRIENDS)  # the way it was
    took_over = 0
    for draw in range(400):
        # All but one word are the adversary's, and always the same.
        words = {name: word(name) for name in parties} | {"clinic-3": word("clinic-3", draw)}
        members = draw_members(parties, words, 7, JOB)
        friends = sum(name in FRIENDS for name in members)
        took_over += friends >= threshold_of(7)
        if draw < 3:
            assert opened_by(members, parties, FRIENDS) == (friends >= threshold_of(7))
    assert took_over <= 16  # 2.2 % are expected, so 9 of 400


def test_every_committee_is_as_likely_as_every_other() -> None:
    names = ("a", "b", "c", "d", "e")
    found = Counter(draw_names({name: word(name, draw) for name in names}, 2, JOB) for draw in range(4000))
    assert len(found) == len(list(combinations(names, 2)))
    assert max(abs(count - 400) for count in found.values()) < 100  # 5 standard deviations of 19


def test_names_come_out_in_the_jobs_order_whatever_that_is() -> None:
    words = {name: word(name) for name in (*FRIENDS, *HONEST)}
    one, other = (*FRIENDS, *HONEST), (*HONEST, *FRIENDS)
    first, second = draw_members(one, words, 7, JOB), draw_members(other, words, 7, JOB)
    assert set(first) == set(second)
    assert first == tuple(name for name in one if name in first)
    assert second == tuple(name for name in other if name in first)


def test_everything_that_is_hashed_changes_the_draw() -> None:
    words = {name: word(name) for name in (*FRIENDS, *HONEST)}
    draws = {draw_members(tuple(words), words, 7, JOB), draw_members(tuple(words), words, 7, bytes(32))}
    draws |= {draw_members(tuple(words), words | {name: bytes(32)}, 7, JOB) for name in words}
    assert len(draws) == 2 + len(words)
    assert commitment_of(JOB, "a", bytes(32)) != commitment_of(JOB, "b", bytes(32))
    assert commitment_of(JOB, "a", bytes(32)) != commitment_of(bytes(32), "a", bytes(32))
    assert list_digest_of(JOB, {"a": bytes(32), "b": JOB}) != list_digest_of(JOB, {"a": JOB, "b": bytes(32)})
    with pytest.raises(InputError):
        commitment_of(JOB, "a", bytes(31))


def test_the_example_of_the_specification() -> None:
    words = {f"p{number:02}": bytes([number]) * 32 for number in range(20)}
    commitments = {name: commitment_of(bytes(32), name, one) for name, one in words.items()}
    members = draw_members(tuple(words), words, 7, bytes(32))
    text = (Path(__file__).parents[5] / "docs/spec/committee.md").read_text(encoding="utf-8").split("## The draw")[1]
    for stated in (commitments["p00"].hex(), list_digest_of(bytes(32), commitments).hex(), ", ".join(members)):
        assert stated in text


# --- the record ------------------------------------------------------------------------------------------------


def test_a_word_is_drawn_once_for_a_job(tmp_path) -> None:
    record = MemberRecord(tmp_path, JOB)
    assert not record.exists()
    assert (record.members(), record.commitments()) == ((), {})
    first = record.word()
    assert MemberRecord(tmp_path, JOB).word() == first == record.word()
    assert MemberRecord(tmp_path, bytes(32)).word() != first
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    assert len(list(tmp_path.iterdir())) == 2


def test_what_was_settled_stays(tmp_path) -> None:
    record = MemberRecord(tmp_path, JOB)
    record.word()
    settled = {"a": bytes(32), "b": JOB}
    record.settle(settled)
    again = MemberRecord(tmp_path, JOB)
    again.settle(settled)
    with pytest.raises(ProtocolError):
        again.settle({**settled, "b": bytes(32)})
    again.finish(("a",))
    again.finish(("a",))
    with pytest.raises(StateError):
        again.finish(("b",))
    assert (record.commitments(), record.members()) == (settled, ("a",))


@pytest.mark.parametrize("durable", [True, False])
def test_a_damaged_record_is_refused(tmp_path, durable) -> None:
    record = MemberRecord(tmp_path, JOB, durable=durable)
    record.word()
    record.settle({"a": bytes(32)})
    record.finish(("a",))
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    other = MemberRecord(tmp_path / "other", bytes(32))
    (tmp_path / "other").mkdir()
    other.word()
    (strange,) = (tmp_path / "other").iterdir()
    damaged = [b"", whole[:-1], whole.replace(b"member a", b"member b"), whole + b"x", b"\xff" * 40]
    damaged.append(strange.read_bytes())  # of another job
    for data in damaged:
        path.write_bytes(data)
        for call in (record.word, record.commitments, record.members):
            with pytest.raises(HekatError, match="damaged"):
                call()
