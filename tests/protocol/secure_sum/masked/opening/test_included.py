"""Statements of included uploads: what their digest holds, and every refusal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hekat.errors import ProtocolError
from hekat.protocol.secure_sum.masked.opening.included import (
    UPLOAD_PURPOSE,
    IncludedSet,
    check_included,
    state_included,
    upload_fields,
)

MakeRound = Callable[..., Any]


@pytest.fixture
def this(make_round: MakeRound) -> Any:
    return make_round(7, seed=80)


def check(this: Any, included: IncludedSet, **overrides: Any) -> None:
    shares = {party: shown.digests for party, shown in this.lists.items()}
    settings = {"context": this.context, "parties": this.parties, "least_included": 5, "share_digests": shares}
    check_included(included, find_unsigned=this.find_unsigned, **(settings | overrides))


def test_good_sets_pass_with_and_without_shares_to_compare(this: Any) -> None:
    check(this, this.included())
    check(this, this.included(this.parties[:5]), share_digests=None)


@pytest.mark.parametrize(
    "change",
    [
        {"number": 5},
        {"session_id": b"t" * 32},
        {"step": "round-2"},
        {"set_name": "C16-128"},
        {"agreement": b"a" * 32},
    ],
)
def test_a_set_of_another_upload_is_refused(this: Any, change: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError, match="another upload"):
        check(this, this.included(), context=replace(this.context, **change))
    # Nor does it help to relabel it: the signatures are over the context.
    relabelled = replace(this.included(), context=replace(this.context, **change))
    with pytest.raises(ProtocolError, match="'party-0' did not sign"):
        check(this, relabelled, context=relabelled.context)


def test_unknown_parties_are_refused_and_shown_short(this: Any) -> None:
    stranger = replace(this.upload("party-0"), party="x" * 100 + "\x1b")
    with pytest.raises(ProtocolError, match="takes no part") as caught:
        check(this, state_included(this.context, [*this.included().uploads, stranger]))
    assert "\x1b" not in str(caught.value)
    assert "x" * 50 not in str(caught.value)


def test_a_party_twice_and_an_order_of_its_own_are_refused(this: Any) -> None:
    uploads = this.included().uploads
    for bad in ((uploads[0], *uploads), tuple(reversed(uploads)), (uploads[0], this.upload("party-0", b"2"), *uploads)):
        with pytest.raises(ProtocolError, match="twice, or is not sorted"):
            check(this, IncludedSet(this.context, bad))


def test_a_set_below_the_least_is_refused(this: Any) -> None:
    with pytest.raises(ProtocolError, match=r"too small.*at least 5.*got 4"):
        check(this, this.included(this.parties[:4]))
    with pytest.raises(ProtocolError, match="too small"):
        check(this, IncludedSet(this.context, ()))


def test_one_upload_under_two_names_is_refused(this: Any) -> None:
    copied = [this.upload(p, b"same" if p in ("party-1", "party-2") else b"") for p in this.parties]
    with pytest.raises(ProtocolError, match="an upload twice"):
        check(this, state_included(this.context, copied))


def test_signatures_of_other_uploads_parties_shares_and_purposes_are_refused(this: Any) -> None:
    upload = this.upload("party-2")
    digest, shares = upload.upload_digest, upload.share_digests
    key = this.keys["party-2"]
    bad = [
        replace(upload, signature=this.upload("party-2", b"other").signature),
        replace(upload, signature=this.upload("party-3").signature),
        replace(upload, signature=b""),
        replace(upload, signature=key.sign("hekat/other/1", *upload_fields(this.context, digest, shares))),
        replace(upload, share_digests=this.lists["party-3"].digests),
        replace(upload, share_digests=shares[:-1]),
        replace(upload, upload_digest=b"d" * 32),
    ]
    for wrong in bad:
        uploads = [wrong if u.party == "party-2" else u for u in this.included().uploads]
        with pytest.raises(ProtocolError, match="'party-2' did not sign"):
            check(this, state_included(this.context, uploads))


def test_digests_of_another_length_are_refused(this: Any) -> None:
    short = b"d" * 31
    signature = this.keys["party-2"].sign(UPLOAD_PURPOSE, *upload_fields(this.context, short, ()))
    wrong = replace(this.upload("party-2"), upload_digest=short, share_digests=(), signature=signature)
    uploads = [wrong if u.party == "party-2" else u for u in this.included().uploads]
    with pytest.raises(ProtocolError, match="malformed at 'party-2'"):
        check(this, state_included(this.context, uploads))


def test_the_digest_holds_everything(this: Any) -> None:
    included = this.included()
    uploads = included.uploads
    others = [
        this.included(this.parties[:6]),
        *(
            replace(included, context=replace(this.context, **change))
            for change in (
                {"number": 5},
                {"session_id": b"t" * 32},
                {"step": "r"},
                {"set_name": "x"},
                {"agreement": b"a" * 32},
            )
        ),
        *(
            replace(included, uploads=(replace(uploads[0], **change), *uploads[1:]))
            for change in (
                {"upload_digest": b"d" * 32},
                {"share_digests": (b"d" * 32,)},
                {"signature": b"s"},
                {"party": "party"},
            )
        ),
    ]
    assert len({included.digest, *(other.digest for other in others)}) == len(others) + 1
    assert state_included(this.context, list(reversed(uploads))).digest == included.digest


def test_the_digest_of_parties_holds_their_names_alone(this: Any, make_round: MakeRound) -> None:
    other = make_round(7, seed=81, number=9, session=b"t" * 32)
    assert other.included().parties_digest == this.included().parties_digest
    assert this.included(this.parties[:6]).parties_digest != this.included().parties_digest
