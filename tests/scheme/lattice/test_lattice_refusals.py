"""What does not belong together is refused, before it is added or after it is opened, and no refusal tells a value."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from hekat.errors import BoundError, InputError, KeyRefusedError
from hekat.scheme.lattice import (
    SETS,
    Accumulator,
    Decryptor,
    Encryptor,
    SecretKey,
    add,
    decrypt,
    encrypt,
    generate_secret,
    public_key,
    sum_secrets,
)

from .conftest import Upload, random_levels

NAME = "A16-16"
PARAMETERS = SETS[NAME]
FORM = PARAMETERS.form


@pytest.fixture(scope="module")
def upload(default_engine) -> Upload:
    """Three parties, two full chunks and a third begun."""
    count = 2 * FORM.values_per_chunk + 99
    return Upload.of(default_engine, NAME, [random_levels(PARAMETERS, count, seed) for seed in (1, 2, 3)])


@pytest.fixture(scope="module")
def written_sum(upload) -> bytes:
    return add(PARAMETERS, upload.value_count, upload.contributions, upload.engine)


def chunks_of(written: bytes, full_bytes: int) -> list[bytes]:
    return [written[i : i + full_bytes] for i in range(0, len(written), full_bytes)]


def refused(upload, written, secret_sum=None):
    with pytest.raises(BoundError, match="does not open") as refusal:
        upload.open(written, secret_sum)
    assert refusal.value.got == "another"


def test_the_sum_as_it_is_opens(upload, written_sum):
    np.testing.assert_array_equal(upload.open(written_sum), upload.total)


def test_chunks_out_of_place_are_refused(upload, written_sum):
    first, second, last = chunks_of(written_sum, FORM.written_sum_bytes(FORM.values_per_chunk))
    refused(upload, second + first + last)
    refused(upload, first + first + last)
    refused(upload, second + second + last)
    for missing in (first + last, first + second, written_sum[:-1], written_sum + b"\0", b""):
        with pytest.raises(InputError, match="wrong size"):
            upload.open(missing)


def test_blocks_under_another_number_are_refused(upload, written_sum):
    decryptor = Decryptor(PARAMETERS, sum_secrets(upload.secrets), upload.public_key, upload.engine)
    block = chunks_of(written_sum, FORM.written_sum_bytes(FORM.values_per_chunk))[1]
    sums = decryptor.decrypt(block, FORM.values_per_chunk, 1)
    np.testing.assert_array_equal(sums, upload.total[FORM.values_per_chunk : 2 * FORM.values_per_chunk])
    for number in (0, 2, 1 << 40):
        with pytest.raises(BoundError, match="does not open"):
            decryptor.decrypt(block, FORM.values_per_chunk, number)
    for value_count, number in ((-1, 0), (FORM.values_per_chunk, -1)):
        with pytest.raises(InputError):
            decryptor.decrypt(block, value_count, number)


def test_one_partys_chunks_out_of_place_spoil_the_sum(upload):
    first, second, last = chunks_of(upload.contributions[0], FORM.written_bytes(FORM.values_per_chunk))
    for blocks in ([second, first, last], [first, first, last]):
        accumulator = Accumulator(PARAMETERS, upload.value_count, upload.engine)
        for written in (blocks, *upload.contributions[1:]):
            accumulator.add(written)
        refused(upload, b"".join(accumulator.write()))


def test_contributions_of_other_sizes_leave_the_sum_as_it_was(upload):
    accumulator = Accumulator(PARAMETERS, upload.value_count, upload.engine)
    accumulator.add(upload.contributions[0])
    before = list(accumulator.write())
    whole = upload.contributions[1]
    first, second, last = chunks_of(whole, FORM.written_bytes(FORM.values_per_chunk))
    wrong = [
        b"",
        [],
        whole[:-1],
        whole + b"\0",
        [first, last],
        [first, second],
        [first, first, second, last],
        [first, second, last, b""],
        [b"", first, second, last],
        [first[:-1], first[-1:] + second, last],
        [first, second + last[:1], last[1:]],
    ]
    for written in wrong:
        with pytest.raises(InputError, match="wrong size"):
            accumulator.add(written)
    # 23 bits a field: the last byte of a chunk that is not full has bits that nobody may use.
    assert FORM.last_used(upload.value_count) * FORM.field_bits[0] % 8
    with pytest.raises(InputError):
        accumulator.add([first, second, last[:-1] + bytes([last[-1] | 0x80])])
    assert accumulator.addend_count == 1
    assert list(accumulator.write()) == before


def test_an_empty_block_behind_the_last_chunk_is_refused(default_engine):
    count = FORM.values_per_chunk
    written = encrypt(
        PARAMETERS, generate_secret(PARAMETERS, default_engine), bytes(32), np.zeros(count, np.int32), default_engine
    )
    accumulator = Accumulator(PARAMETERS, count, default_engine)
    for blocks in ([written, b""], [b"", written]):
        with pytest.raises(InputError, match="a contribution has the wrong size"):
            accumulator.add(blocks)
    accumulator.add([written])


def test_wrong_secrets_do_not_open(upload, written_sum):
    others = [*upload.secrets[:2], generate_secret(PARAMETERS, upload.engine)]
    refused(upload, written_sum, sum_secrets(others))
    refused(upload, written_sum, sum_secrets(upload.secrets[:2]))
    refused(upload, written_sum, sum_secrets([*upload.secrets, others[2]]))


def test_another_included_set_does_not_open(upload):
    for included in ([0, 1], [0, 1, 1], [0, 1, 2, 2]):
        written = add(PARAMETERS, upload.value_count, [upload.contributions[i] for i in included], upload.engine)
        refused(upload, written)


@pytest.mark.parametrize(("session", "number", "name"), [(b"other", 1, NAME), (b"s", 2, NAME), (b"s", 1, "A16-128")])
def test_other_sessions_numbers_and_sets_do_not_open(default_engine, session, number, name):
    key = public_key(b"s", 1, PARAMETERS)
    secret = generate_secret(PARAMETERS, default_engine)
    written = encrypt(PARAMETERS, secret, key, np.arange(5, dtype=np.int32), default_engine)
    written_sum = add(PARAMETERS, 5, [written], default_engine)
    secret_sum = sum_secrets([secret])
    assert decrypt(PARAMETERS, secret_sum, key, written_sum, 5, default_engine).tolist() == [0, 1, 2, 3, 4]
    other = public_key(session, number, SETS[name])
    with pytest.raises(BoundError, match="does not open"):
        decrypt(PARAMETERS, secret_sum, other, written_sum, 5, default_engine)


class Forged:
    """Contributions whose secret is zero: they alter a sum and not the sum of secrets."""

    def __init__(self, engine):
        self.engine = engine
        self.key = public_key(b"forged", 1, PARAMETERS)
        self.secrets = [generate_secret(PARAMETERS, engine) for _ in range(2)]
        self.written = [encrypt(PARAMETERS, s, self.key, np.full(7, 9, np.int32), engine) for s in self.secrets]

    def open(self, *more: bytes) -> np.ndarray:
        written = add(PARAMETERS, 7, [*self.written, *more], self.engine)
        return decrypt(PARAMETERS, sum_secrets(self.secrets), self.key, written, 7, self.engine)

    def with_zero_secret(self, values: np.ndarray) -> bytes:
        secret = SecretKey(PARAMETERS, np.zeros(2048, np.int8))
        return encrypt(PARAMETERS, secret, self.key, values, self.engine)


def test_a_count_that_is_not_the_number_of_secrets_is_refused(default_engine):
    forged = Forged(default_engine)
    assert forged.open().tolist() == [18] * 7
    with pytest.raises(BoundError, match="exactly the 2 contributions"):
        forged.open(forged.with_zero_secret(np.zeros(7, np.int32)))


def test_sums_beyond_what_so_many_parties_can_have_are_refused(default_engine):
    """The count is right, a value is not: the second party's own level allows no such sum."""
    forged = Forged(default_engine)
    for value in (2 * PARAMETERS.level, -2 * PARAMETERS.level):
        for beyond in (0, 1):
            values = np.full(7, value // 2, np.int32)
            values[3] += beyond * np.sign(value)
            written = [
                default_engine.mask_values(
                    FORM, forged.key, secret.transform(default_engine), bytes(32), 0, values
                ).tobytes()
                for secret in forged.secrets
            ]
            written_sum = add(PARAMETERS, 7, written, default_engine)
            secret_sum = sum_secrets(forged.secrets)
            if beyond:
                with pytest.raises(BoundError, match="does not open") as refusal:
                    decrypt(PARAMETERS, secret_sum, forged.key, written_sum, 7, default_engine)
                assert str(abs(value)) not in str(refusal.value)
            else:
                assert (decrypt(PARAMETERS, secret_sum, forged.key, written_sum, 7, default_engine) == value).all()


def test_more_contributions_than_the_set_allows_are_refused(default_engine):
    secret = generate_secret(PARAMETERS, default_engine)
    written = encrypt(PARAMETERS, secret, bytes(32), np.zeros(3, np.int32), default_engine)
    accumulator = Accumulator(PARAMETERS, 3, default_engine)
    for _ in range(PARAMETERS.max_parties):
        accumulator.add(written)
    before = list(accumulator.write())
    with pytest.raises(BoundError, match="at most 16 contributions"):
        accumulator.add(written)
    assert accumulator.addend_count == 16
    assert list(accumulator.write()) == before


def test_an_accumulator_does_not_grow(default_engine):
    """One uint64 a field, however many contributions: also after the fifteenth."""
    count = 1500
    secret = generate_secret(PARAMETERS, default_engine)
    written = encrypt(PARAMETERS, secret, bytes(32), np.zeros(count, np.int32), default_engine)
    tracemalloc.start()
    try:
        start, _ = tracemalloc.get_traced_memory()
        accumulator = Accumulator(PARAMETERS, count, default_engine)
        accumulator.add(written)
        after_one, _ = tracemalloc.get_traced_memory()
        for _ in range(14):
            accumulator.add(written)
        after_all, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 8 * FORM.field_count(count) <= after_one - start < 8 * FORM.field_count(count) + 4096
    assert after_all - after_one < 512


def test_writing_a_sum_in_blocks_that_end_within_a_chunk_is_refused(default_engine):
    accumulator = Accumulator(PARAMETERS, 3, default_engine)
    with pytest.raises(InputError, match="no sum to write"):
        accumulator.write()
    for block_values in (0, -4095, 4094, 4096):
        with pytest.raises(InputError, match="multiple of 4095"):
            accumulator.write(block_values)
    with pytest.raises(InputError, match="number of values"):
        Accumulator(PARAMETERS, -1, default_engine)


def test_levels_that_do_not_fit_are_refused(default_engine):
    encryptor = Encryptor(PARAMETERS, generate_secret(PARAMETERS, default_engine), bytes(32), default_engine)
    for value in (1 << 15, -(1 << 15), -(1 << 31), (1 << 31) - 1):
        with pytest.raises(BoundError, match="16 bits") as refusal:
            encryptor.encrypt(np.array([0, value, 0], np.int32), last=True)
        assert str(abs(value)) not in str(refusal.value)
    for levels in (np.zeros(3, np.int64), np.zeros(3), np.zeros((1, 3), np.int32), [1, 2, 3]):
        with pytest.raises(InputError, match="vector of int32"):
            encryptor.encrypt(levels, last=True)
    for count in (1, 4094, 4096):
        with pytest.raises(InputError, match="multiple of 4095"):
            encryptor.encrypt(np.zeros(count, np.int32))
    # Nothing was masked yet.
    encryptor.encrypt(np.zeros(3, np.int32), last=True)
    for last in (True, False):
        with pytest.raises(KeyRefusedError, match="no more values"):
            encryptor.encrypt(np.zeros(0, np.int32), last=last)


def test_sums_of_secrets_of_another_set_are_refused(upload):
    other = sum_secrets([generate_secret(SETS["A8-32"], upload.engine)])
    with pytest.raises(KeyRefusedError, match="expected A16-16; got A8-32"):
        Decryptor(PARAMETERS, other, upload.public_key, upload.engine)
    for key in (b"", bytes(31), "x" * 32):
        with pytest.raises(InputError, match="public key"):
            Decryptor(PARAMETERS, sum_secrets(upload.secrets), key, upload.engine)
