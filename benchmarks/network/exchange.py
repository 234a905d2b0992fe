"""Rounds without Hekat's protocol over the same mailboxes and links: parties send bytes, the aggregator adds them.

What the bytes are, a form says: plain float32, as an engine's own federated averaging sends them, or ciphertexts of
TenSEAL as NVIDIA FLARE's homomorphic encryption sends them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import tenseal

from hekat.channel.mailbox import MailboxChannel
from network.forked_roles import FloatArray, RoleFigures, check_mean, play_forked, playing, values_of
from network.shaped_link import LOOPBACK, Link, ShapedPost

AGGREGATOR = "aggregator"
BLOCK_BYTES = 1 << 20
# nvflare.lighter.impl.he.HEBuilder of NVIDIA FLARE 2.9.
HE_DEGREE, HE_MODULI_BITS, HE_SCALE_BITS = 8192, (60, 40, 40), 40


class Form(Protocol):
    """How updates look on the wire. One object is made before roles fork, so that all have the same keys."""

    def encode(self, values: FloatArray) -> bytes:
        """One party's update, which carries its weight, 1 / parties."""
        ...

    def begin_sum(self) -> Any: ...

    def add(self, total: Any, update: bytes) -> Any: ...

    def encode_sum(self, total: Any) -> bytes: ...

    def decode(self, mean: bytes) -> FloatArray: ...


@dataclass
class PlainFloat32:
    """Plain federated averaging; the mean goes back as float32."""

    party_count: int

    def encode(self, values: FloatArray) -> bytes:
        return values.tobytes()

    def begin_sum(self) -> Any:
        return None

    def add(self, total: Any, update: bytes) -> Any:
        values = np.frombuffer(update, np.float32)
        return values.astype(np.float64) if total is None else np.add(total, values, out=total)

    def encode_sum(self, total: Any) -> bytes:
        return (total / self.party_count).astype(np.float32).tobytes()

    def decode(self, mean: bytes) -> FloatArray:
        return np.frombuffer(mean, np.float32)


class TensealOfNvflare:
    """TenSEAL's CKKS as NVIDIA FLARE 2.9 sends it: `HEModelEncryptor` weighs and encrypts each tensor, and
    `CKKSVectorDecomposer` serialises it with its context beside it. One secret key for all parties."""

    def __init__(self, sizes: Sequence[int], party_count: int) -> None:
        self.sizes, self.party_count = tuple(sizes), party_count
        context = tenseal.context(
            tenseal.SCHEME_TYPE.CKKS,
            HE_DEGREE,
            coeff_mod_bit_sizes=list(HE_MODULI_BITS),
            encryption_type=tenseal.ENCRYPTION_TYPE.SYMMETRIC,
        )
        context.generate_relin_keys()
        context.global_scale = 2**HE_SCALE_BITS
        self._clients = context.serialize(
            save_public_key=True, save_secret_key=True, save_galois_keys=False, save_relin_keys=True
        )

    def encode(self, values: FloatArray) -> bytes:
        context = tenseal.context_from(self._clients)
        weighed = values * np.float64(1 / self.party_count)
        parts = np.split(weighed, np.cumsum(self.sizes)[:-1])
        return _join([_decompose(tenseal.ckks_vector(context, part)) for part in parts])

    def begin_sum(self) -> Any:
        return None

    def add(self, total: Any, update: bytes) -> Any:
        vectors = [_recompose(part) for part in _split(update)]
        return vectors if total is None else [a + b for a, b in zip(total, vectors, strict=True)]

    def encode_sum(self, total: Any) -> bytes:
        return _join([_decompose(vector) for vector in total])

    def decode(self, mean: bytes) -> FloatArray:
        context = tenseal.context_from(self._clients)
        secret_key = context.secret_key()
        opened = [_recompose(part).decrypt(secret_key=secret_key) for part in _split(mean)]
        return np.concatenate([np.asarray(part, np.float32) for part in opened])


@dataclass(frozen=True)
class ExchangeWork:
    """`rounds` means of `value_count` values of `parties`, in one form over one link."""

    parties: tuple[str, ...]
    value_count: int
    rounds: int
    make_form: Callable[[], Form]
    link: Link = LOOPBACK


def play_exchange(work: ExchangeWork) -> dict[str, RoleFigures]:
    """The figures of each role, whose mean has been checked."""
    form = work.make_form()
    figures = play_forked((*work.parties, AGGREGATOR), lambda role, place: _play_role(work, form, role, place))
    check_mean(figures, work.parties, work.value_count, work.parties)
    return figures


def _play_role(work: ExchangeWork, form: Form, role: str, place: Path) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # TenSEAL warns, at each vector, of operations that nobody asks for
    figures, post = RoleFigures(role), ShapedPost(place, role, work.link)
    channel = MailboxChannel(
        role, (*work.parties, AGGREGATOR), post, run_id="bench", timeout_s=600.0, lost_after_s=600.0,
        first_contact_s=600.0,
    )  # fmt: skip
    with playing(post, channel, figures):
        channel.meet(b"")
        if role == AGGREGATOR:
            _aggregate(work, form, channel)
        else:
            _take_part(work, form, channel, figures, post)


def _take_part(work: ExchangeWork, form: Form, channel: MailboxChannel, figures: RoleFigures, post: ShapedPost) -> None:
    values = values_of(work.parties, channel.party, work.value_count)
    figures.begin_rounds(post)
    for number in range(1, work.rounds + 1):
        send_whole(channel, AGGREGATOR, f"round-{number}/update", form.encode(values))
        mean = form.decode(receive_whole(channel, AGGREGATOR, f"round-{number}/mean"))
        figures.end_round()
    figures.end_rounds(mean)


def _aggregate(work: ExchangeWork, form: Form, channel: MailboxChannel) -> None:
    for number in range(1, work.rounds + 1):
        total = form.begin_sum()
        for party in work.parties:
            total = form.add(total, receive_whole(channel, party, f"round-{number}/update"))
        mean = form.encode_sum(total)
        for party in work.parties:
            send_whole(channel, party, f"round-{number}/mean", mean)


def send_whole(channel: MailboxChannel, to: str, step: str, content: bytes) -> None:
    """Send bytes in blocks, as many messages of one step."""
    channel.send(to, step, len(content).to_bytes(8, "little"))
    for start in range(0, len(content), BLOCK_BYTES):
        channel.send(to, step, content[start : start + BLOCK_BYTES])


def receive_whole(channel: MailboxChannel, sender: str, step: str) -> bytes:
    """What `send_whole` sent."""
    byte_count = int.from_bytes(channel.receive(sender, step), "little")
    blocks: list[bytes] = []
    while byte_count > 0:
        blocks.append(channel.receive(sender, step))
        byte_count -= len(blocks[-1])
    return b"".join(blocks)


def _decompose(vector: Any) -> bytes:
    return _join([vector.serialize(), vector.context().serialize()])


def _recompose(content: bytes) -> Any:
    vector, context = _split(content)
    return tenseal.ckks_vector_from(tenseal.context_from(context), vector)


def _join(parts: Sequence[bytes]) -> bytes:
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)


def _split(content: bytes) -> list[bytes]:
    parts, start = [], 0
    while start < len(content):
        end = start + 8 + int.from_bytes(content[start : start + 8], "little")
        parts.append(content[start + 8 : end])
        start = end
    return parts
