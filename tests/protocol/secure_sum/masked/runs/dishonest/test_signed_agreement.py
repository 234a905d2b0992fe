"""Two groups that agree on different things, agreements nobody signed, and a run resumed from another model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hekat.errors import ProtocolError
from hekat.protocol.horizontal.party import run_party
from hekat.protocol.secure_sum.agreement.messages import ClipMessage
from hekat.protocol.secure_sum.masked.messages import (
    IncludedMessage,
    MaskedBlockMessage,
    ReleasedMessage,
    UploadMessage,
)
from hekat.protocol.secure_sum.settings import CodecSettings

DACIQ = CodecSettings(clipping="daciq")


def tighter_bounds_for(*parties):
    """An aggregator that tells these parties bounds of a thousandth: their updates would all but vanish in the sum."""

    def changed(to, step, message):
        return ClipMessage(message.alpha / 1000) if isinstance(message, ClipMessage) and to in parties else None

    return changed


def test_two_groups_with_other_bounds_make_no_sum(play, masked_settings) -> None:
    rehearsal, watch, error = play(tighter_bounds_for("d", "e"), settings=masked_settings(5, codec=DACIQ))
    assert isinstance(error.__cause__, ProtocolError)
    assert watch.senders_of(MaskedBlockMessage) == []
    assert rehearsal.records == []


def test_another_agreement_than_the_dealers_signed_is_refused(play) -> None:
    def changed(to, step, message):
        return replace(message, agreement=bytes(32)) if isinstance(message, IncludedMessage) else None

    rehearsal, watch, error = play(changed)
    assert error is not None
    assert "the parties do not hold the same before round-1" in rehearsal.reasons
    assert watch.senders_of(ReleasedMessage) == []


def test_a_dealer_with_another_agreement_is_left_out(play) -> None:
    def changed(to, step, message):
        return replace(message, agreement=bytes(32)) if isinstance(message, UploadMessage) else None

    rehearsal, _, error = play(changed, role="d")
    assert error is None
    assert rehearsal.lost_names == ["d"]


def test_a_party_that_resumes_from_another_model_is_found_before_it_uploads(
    rehearse_masked, masked_settings, meddle
) -> None:
    settings = masked_settings(5)
    first = rehearse_masked(settings)
    first.run()
    settings = replace(settings, training=replace(settings.training, round_count=2))
    senders: list[str] = []

    def keep(sender, step, message):
        senders.extend([sender] if isinstance(message, MaskedBlockMessage) else [])
        return message

    def play_c(channel):
        run = resumed._party_run("c", channel, resumed.upload_states["c"])
        state = run.local.resume_from
        name = next(iter(state.parameters))
        state.parameters[name] = np.nextafter(state.parameters[name], 1)
        return run_party(channel, resumed.tables["c"], settings, run)

    resumed = rehearse_masked(
        settings, resume_from=first.saved[0], stand_ins={"c": play_c}, meddlers={"hub": meddle(incoming=keep)}
    )
    resumed.run()
    assert resumed.lost_names == ["c"]
    assert "another model" in resumed.reasons
    assert senders == ["a", "b", "d", "e"]
