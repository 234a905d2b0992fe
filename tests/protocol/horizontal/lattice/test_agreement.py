"""Uploads bind what parties take for granted of each other: bounds and models that differ open nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.errors import ProtocolError, WireCorruptError
from hekat.protocol.horizontal import lattice_aggregation
from hekat.protocol.horizontal.lattice_messages import (
    DealersMessage,
    DealtMessage,
    MaskedBlockMessage,
    ReleasedMessage,
    SumBlockMessage,
)
from hekat.protocol.horizontal.messages import ClipMessage, RoundEndMessage
from hekat.protocol.horizontal.opening.committee import RELEASE_PURPOSE
from hekat.protocol.horizontal.settings import CodecSettings

DACIQ = CodecSettings(clipping="daciq")
OTHER = "another size or parameter set, or with another model, bounds or counters than most"


def causes(rehearsal) -> set[type]:
    return {type(error.__cause__) for error in rehearsal.lost}


def clip_for(party, factor):
    """The clipping bounds that this one party is told are `factor` times the others'."""

    def changed(to, step, message):
        return ClipMessage(message.alpha * factor) if isinstance(message, ClipMessage) and to == party else None

    return changed


def hide_agreements(watch):
    """The aggregator takes every party's agreement for that of the first, as one would that had told them apart."""
    first: dict[str, bytes] = {}

    def incoming(sender, step, message):
        watch.incoming(sender, step, message)
        if isinstance(message, DealtMessage):
            return replace(message, agreement=first.setdefault(step, message.agreement))
        if isinstance(message, RoundEndMessage):
            return replace(message, model_digest=b"0" * 32)
        return message

    return incoming


@pytest.fixture
def play_hiding(rehearse_lattice, meddle, watch_of):
    """As `play`, of an aggregator that hides from itself that parties differ."""

    def run(change, **others):
        watch = watch_of(change)
        hub = meddle(watch.outgoing, hide_agreements(watch))
        rehearsal = rehearse_lattice(meddlers={"hub": hub}, **others)
        try:
            rehearsal.run()
        except Exception as error:  # noqa: BLE001
            return rehearsal, watch, error
        return rehearsal, watch, None

    return run
