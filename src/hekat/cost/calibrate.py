"""How fast this machine is at what one sum takes: measured in a second or two, on the job's own parameters and key.

The work is real, of random numbers, on the thread pool that a run uses; nothing of it leaves this process, and keys and
secrets made here are thrown away. Seconds are for one role by itself.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import gmpy2
import numpy as np

from hekat.channel import PartyKey
from hekat.channel.pair_key import SALT_BYTES, PairKey
from hekat.channel.sealed_message import CHUNK_BYTES, SESSION_ID_BYTES, SealedHeader, parse_frame, seal_payload
from hekat.codec.levels import dequantise_sums, quantise_levels
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.secure_sum.cost.recorded_sums import SumShape
from hekat.protocol.secure_sum.cost.round_bytes import layout_of, slots_of
from hekat.protocol.secure_sum.masked.cost import parameters_of, stream_of
from hekat.protocol.secure_sum.masked.opening.opening_scheme import OpeningScheme
from hekat.protocol.secure_sum.masked.opening.opening_schemes import make_opening_scheme, members_for_sizes
from hekat.protocol.secure_sum.masked.opening.sum_check import InnerProducts, row_count
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext
from hekat.protocol.secure_sum.masked.slot_stream import BLOCK_SLOTS
from hekat.protocol.secure_sum.update_codec import UpdateCodec
from hekat.scheme.lattice import (
    Accumulator,
    Decryptor,
    Encryptor,
    LatticeParameters,
    block_values,
    generate_secret,
    public_key,
    sum_secrets,
)
from hekat.scheme.lattice.evaluate import read_contribution
from hekat.scheme.paillier import PrivateKey, add, decrypt, encrypt

LEAST_S = 0.03
SAMPLE_CIPHERTEXTS = 64
SAMPLE_VALUES = 1 << 16
SAMPLE_BYTES = 1 << 20
_SESSION = bytes(SESSION_ID_BYTES)


@dataclass(frozen=True)
class SumSeconds:
    """What one sum takes: `encode`, `encrypt`, `deal` an uploader; `decrypt`, `decode`, `open` whoever opens it.

    `add` and `write` are the aggregator's, for one upload and for the sum; `check` is a member's for one dealer,
    `release` a member's for the sum. Where sums are checked, `products` are a party's inner products of its upload and
    again of the sum.
    """

    encode: float = 0.0
    encrypt: float = 0.0
    add: float = 0.0
    write: float = 0.0
    decrypt: float = 0.0
    decode: float = 0.0
    deal: float = 0.0
    check: float = 0.0
    release: float = 0.0
    open: float = 0.0
    products: float = 0.0


@dataclass(frozen=True)
class SealSeconds:
    """What one message takes its sender and its receiver: a part for each message, a part for each byte.

    `sign` and `verify` are of the signatures inside messages.
    """

    seal: float
    open: float
    seal_byte: float
    open_byte: float
    sign: float
    verify: float


def seconds_of(action: Callable[[], object]) -> float:
    """Mean seconds of `action`, which is run once before and then as often as fits in a short while."""
    action()
    count, start = 0, time.perf_counter()
    while True:
        action()
        count += 1
        passed = time.perf_counter() - start
        if passed >= LEAST_S:
            return passed / count


def calibrate_sum(
    settings: HorizontalSettings, shape: SumShape, uploaders: Sequence[str], key: PrivateKey | None
) -> SumSeconds:
    """Seconds of one sum of this form under the settings' protection; `key` is for `paillier`, None: one made here."""
    if settings.protection == "lattice":
        return _calibrate_lattice(settings, shape, uploaders)
    if settings.protection == "paillier":
        return _calibrate_paillier(settings, shape, len(uploaders), key or make_passing_key(settings.key_bits))
    return _calibrate_plain(shape)


def calibrate_seal() -> SealSeconds:
    """Seconds of sealing and opening, and of the signatures that statements carry."""
    key, pair_key = PartyKey.generate(), PairKey.generate()

    def seal(size: int) -> bytes:
        header = SealedHeader(
            session_id=_SESSION,
            run_id="run",
            protocol="cost",
            step="cost",
            sequence=0,
            sender="a",
            receiver="b",
            signer=key.fingerprint,
            salt=secrets.token_bytes(SALT_BYTES),
            payload_bytes=size,
            chunk_bytes=CHUNK_BYTES,
        )
        return seal_payload(bytes(size), header, key, pair_key)

    def open_frame(frame: bytes) -> None:
        parsed = parse_frame(frame)
        parsed.verify(key.public)
        parsed.open(pair_key)

    small, large = seal(0), seal(SAMPLE_BYTES)
    seal_s, open_s = seconds_of(lambda: seal(0)), seconds_of(lambda: open_frame(small))
    signature = key.sign("cost", _SESSION)
    return SealSeconds(
        seal=seal_s,
        open=open_s,
        seal_byte=max(0.0, seconds_of(lambda: seal(SAMPLE_BYTES)) - seal_s) / SAMPLE_BYTES,
        open_byte=max(0.0, seconds_of(lambda: open_frame(large)) - open_s) / SAMPLE_BYTES,
        sign=seconds_of(lambda: key.sign("cost", _SESSION)),
        verify=seconds_of(lambda: key.public.verify(signature, "cost", _SESSION)),
    )


def _calibrate_lattice(settings: HorizontalSettings, shape: SumShape, uploaders: Sequence[str]) -> SumSeconds:
    """Values in blocks as a party masks them; the last block, if smaller, is taken for its part of a whole one."""
    parameters = parameters_of(settings.sums, shape, len(uploaders))
    slot_count = stream_of(settings.sums, shape).slot_count
    sample = min(slot_count, block_values(parameters, BLOCK_SLOTS))
    blocks = slot_count / sample
    values = np.random.default_rng(0).normal(size=sample)
    levels = np.empty(sample, dtype=np.int32)
    factor = parameters.level / 4
    shared_a = public_key(_SESSION, 0, parameters)

    def encode() -> None:
        rng = np.random.default_rng(0) if settings.codec.rounding == "stochastic" else None
        quantise_levels(values, factor, parameters.level, levels, settings.codec.rounding, rng)

    encode_s = seconds_of(encode)
    chosen = [generate_secret(parameters) for _ in range(min(3, len(uploaders)))]
    written = [Encryptor(parameters, secret, shared_a).encrypt(levels, last=True) for secret in chosen]
    accumulator = Accumulator(parameters, sample)
    for one in written:
        accumulator.add(one)
    total = next(accumulator.write())
    decryptor = Decryptor(parameters, sum_secrets(chosen), shared_a)
    sums = decryptor.decrypt(total, sample)
    mean = np.empty(sample)
    fields = read_contribution(parameters, written[0], sample)
    rows = row_count(parameters.form, len(uploaders))
    products_s = seconds_of(lambda: InnerProducts(_SESSION, rows).add(fields)) if settings.check_sum else 0.0
    return SumSeconds(
        products=blocks * products_s,
        encode=blocks * encode_s,
        encrypt=blocks
        * seconds_of(lambda: Encryptor(parameters, generate_secret(parameters), shared_a).encrypt(levels, last=True)),
        add=blocks * seconds_of(lambda: Accumulator(parameters, sample).add(written[0])),
        write=blocks * seconds_of(lambda: next(accumulator.write())),
        decrypt=blocks * seconds_of(lambda: decryptor.decrypt(total, sample)),
        decode=blocks * seconds_of(lambda: dequantise_sums(sums, 0.5, mean)),
        **_calibrate_opening(settings, parameters, uploaders),
    )


def _calibrate_opening(
    settings: HorizontalSettings, parameters: LatticeParameters, uploaders: Sequence[str]
) -> dict[str, float]:
    """Dealing, checking, releasing and opening, with one dealing that stands for every party's."""
    way: OpeningScheme = make_opening_scheme(
        settings.sums, bytes(32) if settings.opening == "shared" else b"", members_for_sizes(settings.sums)
    )
    context = UploadContext(_SESSION, 0, "cost", parameters.name)
    dealer, degree = uploaders[0], parameters.form.ring.degree
    keys = way.draw_keys()
    dealt = way.deal(context, dealer, parameters, keys)
    members = way.members
    seconds = {"deal": seconds_of(lambda: way.deal(context, dealer, parameters, keys))}

    def check(position: int) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.uint16]]]:
        member = members[position]
        message, digest = dealt.messages[member], dealt.digests[position]
        share = way.read(context, dealer, member, message, dealt.offset, digest, degree)
        way.check_values(bytes(32), {dealer: share}, degree)
        return dict.fromkeys(uploaders, share)

    releases = {member: way.combine(check(position), parameters) for position, member in enumerate(members)}
    if members:
        kept = check(0)
        seconds["check"] = seconds_of(lambda: check(0))
        seconds["release"] = seconds_of(lambda: way.combine(kept, parameters))
    salts = dict.fromkeys(uploaders, dealt.salt)
    # Under one shared key every party's secret follows from its name; the others' dealing is one party's, added up.
    return seconds | {"open": seconds_of(lambda: way.open(context, parameters, releases, salts))}


def _calibrate_paillier(
    settings: HorizontalSettings, shape: SumShape, uploader_count: int, key: PrivateKey
) -> SumSeconds:
    layout = layout_of(settings.sums, shape.value_bits, uploader_count)
    slot_count = slots_of(settings.sums, shape, layout)
    count = layout.plaintext_count(slot_count)
    sample = min(count, SAMPLE_CIPHERTEXTS)
    part = SumShape("cost", {"values": (min(slot_count, sample * layout.slots),)}, (), shape.value_bits)
    codec = UpdateCodec(layout, settings.codec.rounding, settings.weight_max)
    bounds, values = {"values": 1.0}, {"values": np.random.default_rng(0).normal(size=part.shapes["values"])}

    def encode() -> object:
        return codec.encode(codec.clip_scaled(values, bounds, 1), bounds, 1, ())

    plain = codec.encode(codec.clip_scaled(values, bounds, 1), bounds, 1, ())
    ciphertexts = encrypt(key, plain)
    opened = decrypt(key, ciphertexts, bound=layout.sum_bound)
    factor = count / len(plain)
    return SumSeconds(
        encode=factor * seconds_of(encode),
        encrypt=factor * seconds_of(lambda: encrypt(key, plain)),
        add=factor * seconds_of(lambda: add(ciphertexts, ciphertexts)),
        decrypt=factor * seconds_of(lambda: decrypt(key, ciphertexts, bound=layout.sum_bound)),
        decode=factor * seconds_of(lambda: codec.decode(opened, part.like, bounds, (), 1)),
    )


def _calibrate_plain(shape: SumShape) -> SumSeconds:
    sample = max(1, min(shape.value_count, SAMPLE_VALUES))
    values, total = np.ones(sample), np.zeros(sample)
    factor = shape.value_count / sample

    def add_up() -> None:
        np.add(total, values * 2.0, out=total)

    return SumSeconds(add=factor * seconds_of(add_up))


def make_passing_key(bits: int) -> PrivateKey:
    """A key of this size to measure with: its primes are not safe ones, which would take seconds to find."""
    top = 3 << (bits // 2 - 2)
    p, q = (int(gmpy2.next_prime(top | secrets.randbits(bits // 2 - 2))) for _ in range(2))
    return PrivateKey._trusted(p, q)
