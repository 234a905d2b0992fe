"""What a key's holder can make of answers: attacks that read the plain matrix without a rule, and nothing with it."""

from __future__ import annotations

import inspect
import os
import pickle

import numpy as np
import pytest
from tests.scheme.bfv.conftest import BYTE_BINS, Q, centred, chi_square_odds, leave_out_zeros, near_zero
from tests.scheme.bfv.shared_products.conftest import draw_matrices, exact_product, share_product

from hekat.errors import InputError, KeyRefusedError
from hekat.scheme.bfv import PRODUCTS, generate_keys
from hekat.scheme.bfv.elements import (
    add_elements,
    integers_of_residues,
    multiply_slots,
    residues_at,
    transform,
    transform_back,
)
from hekat.scheme.bfv.keys import SEED_BYTES
from hekat.scheme.bfv.keys import expand as expand_public
from hekat.scheme.bfv.shared_products import (
    Answer,
    Blocks,
    EncryptedMatrix,
    MatrixLayout,
    Shape,
    add_answers,
    cancelling_masks,
    cover_products,
    encrypt_matrix,
    lay_out_matrices,
    mask_products,
    multiply_masked,
    multiply_matrices,
    open_share,
    prepare_matrix,
)
from hekat.scheme.bfv.shared_products import answers as answers_module
from hekat.scheme.bfv.shared_products.encrypted_matrix import expand
from hekat.scheme.bfv.shared_products.places import take_products
from hekat.scheme.bfv.shared_products.residues import add, draw_uniform

OPENED = lay_out_matrices(bits=60, rows=64, inner=16, columns=64, plain_bound=1 << 19, opened=True)
# One block along the inner dimension, so that a second half is the product of one plain and one uniform polynomial.
DIVIDED = MatrixLayout(
    PRODUCTS, 60, Shape(256, 8, 64), Blocks(16, 8, 64), 1 << 19, kept_primes=4, noise_bound=OPENED.noise_bound
)


def quotients(answer: Answer, encrypted: EncryptedMatrix, engine) -> np.ndarray:
    """The attack: c1 of every answer divided, slot by slot, by c1 of the encrypted matrix: (answers, primes, N)."""
    found = []
    for part, c1, a in zip(PRODUCTS.parts, answer.c1, encrypted.second_halves(engine), strict=True):
        inverse = [[pow(x, -1, p) for x in row] for p, row in zip(part.primes, a[0, 0].tolist(), strict=True)]
        slots = engine.ring_mul(part, engine.ring_ntt(part, c1), np.array(inverse, np.uint64))
        found.append(engine.ring_intt(part, slots))
    return np.concatenate(found, axis=1)


def test_second_halves_divided_read_the_plain_matrix_only_without_a_fresh_zero(pair, engine, monkeypatch) -> None:
    plain, numbers = draw_matrices(DIVIDED, np.random.default_rng(31))
    encrypted, prepared = encrypt_matrix(pair.private, numbers, DIVIDED, engine), prepare_matrix(plain, DIVIDED, engine)
    coefficients = np.zeros((16, PRODUCTS.degree), np.int64)
    coefficients[:, : 16 * 8] = plain.reshape(16, -1)
    wanted = np.repeat(coefficients[:, np.newaxis], len(PRODUCTS.primes), axis=1)

    seen = near_zero(quotients(multiply_masked(prepared, encrypted, engine)[0], encrypted, engine))
    correlation = np.corrcoef(seen.ravel().astype(float), wanted.ravel().astype(float))[0, 1]
    leave_out_zeros(monkeypatch, engine)
    bare = near_zero(quotients(multiply_masked(prepared, encrypted, engine)[0], encrypted, engine))
    print(f"seed 31: {wanted.size} numbers, correlation {correlation:.5f} with the fresh zero")
    assert np.array_equal(bare, wanted)
    assert abs(correlation) < 0.01


def hostile(kind: str, pair, rng: np.random.Generator, engine) -> EncryptedMatrix:
    """Matrices that no honest holder sends."""
    _, numbers = draw_matrices(OPENED, rng)
    encrypted = encrypt_matrix(pair.private, numbers, OPENED, engine)
    if kind == "honest":
        return encrypted
    if kind == "zeros":
        c0 = tuple(np.zeros_like(x) for x in encrypted.c0)
        return EncryptedMatrix(pair.public, OPENED, encrypted.seed, c0)
    # No number mod t: a plaintext of q / 2 moves each product by half of the ring, or not at all.
    shifted = tuple(np.zeros_like(x) for x in encrypted.c0)
    for part, x in zip(PRODUCTS.parts, shifted, strict=True):
        for row, prime in enumerate(part.primes):
            x[..., row, :] = Q // 2 % prime
    moved = transform(PRODUCTS, shifted, engine)
    c0 = tuple(engine.ring_add(part, x, y) for part, x, y in zip(PRODUCTS.parts, encrypted.c0, moved, strict=True))
    return EncryptedMatrix(pair.public, OPENED, encrypted.seed, c0)


def opened_bytes(pair, encrypted: EncryptedMatrix, plain: np.ndarray, draws: int, engine) -> list[np.ndarray]:
    """The highest and the lowest byte of what the holder opens, `draws` times 4096 numbers of one product."""
    prepared = prepare_matrix(plain, OPENED, engine)
    shares = np.array(
        [open_share(pair.private, multiply_masked(prepared, encrypted, engine)[0], engine) for _ in range(draws)]
    )
    return [shares >> np.uint64(52), shares & np.uint64(BYTE_BINS - 1)]


@pytest.mark.parametrize("draws", [pytest.param(4, id="2^14"), pytest.param(256, id="2^20", marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", ["honest", "zeros", "half-of-the-ring"])
def test_a_holder_that_sends_other_plaintexts_opens_uniform_numbers(engine, monkeypatch, kind, draws) -> None:
    """One plain matrix, other masks in each draw. All randomness follows from the seed, so the odds are one number."""
    rng = np.random.default_rng(32)
    monkeypatch.setattr(os, "urandom", rng.bytes)
    pair, (plain, _) = generate_keys(engine=engine), draw_matrices(OPENED, rng)
    odds = [chi_square_odds(x) for x in opened_bytes(pair, hostile(kind, pair, rng, engine), plain, draws, engine)]
    print(f"seed 32, {kind}: odds of such bytes {odds}")
    assert min(odds) > 0.001


def test_masks_are_uniform_mod_every_prime(engine, monkeypatch) -> None:
    """So they are uniform mod q, whose numbers are all combinations of residues, once each."""
    monkeypatch.setattr(os, "urandom", np.random.default_rng(39).bytes)
    residues = np.concatenate(draw_uniform(PRODUCTS, 1 << 15, engine))
    odds = [chi_square_odds(x) for row in residues for x in (row >> np.uint64(40), row & np.uint64(BYTE_BINS - 1))]
    print(f"seed 39: odds of such bytes {odds}")
    assert min(odds) > 0.001
    pairs = np.corrcoef(residues.astype(float))[np.triu_indices(len(residues), 1)]
    assert abs(pairs).max() < 0.03


def test_masks_as_large_as_honest_products_open_what_a_lying_holder_asks_for(pair, engine, monkeypatch) -> None:
    """Without the rule: masks far above every honest product, but not over all of the ring, show entries' parities."""
    rng = np.random.default_rng(33)
    plain, _ = draw_matrices(OPENED, rng)
    small = Q >> 8

    def draw_small_masks(parameters, count, engine):
        masks = [int.from_bytes(rng.bytes(24), "little") % small for _ in range(count)]
        return tuple(np.ascontiguousarray(x.T) for x in residues_at(parameters, masks))

    halves = np.zeros((16, 64), np.uint64)
    halves[3] = 1 << 59
    encrypted = encrypt_matrix(pair.private, halves, OPENED, engine)
    monkeypatch.setattr(answers_module, "draw_uniform", draw_small_masks)
    share = open_share(pair.private, multiply_masked(prepare_matrix(plain, OPENED, engine), encrypted, engine)[0])
    assert np.array_equal(share >> np.uint64(59), np.broadcast_to((plain[:, 3] & 1)[:, np.newaxis], share.shape))
    monkeypatch.undo()
    share = open_share(pair.private, multiply_masked(prepare_matrix(plain, OPENED, engine), encrypted, engine)[0])
    matches = (share >> np.uint64(59) == (plain[:, 3:4] & 1).astype(np.uint64)).sum()
    # 2048 of 4096 fair coins, 400 off with odds below 2^-110.
    assert abs(int(matches) - 2048) < 400


def noise_seen(pair, answer: Answer, plain: np.ndarray, numbers: np.ndarray, engine) -> np.ndarray:
    """What the holder finds, beside multiples of Delta, in the numbers that it opens."""
    shared = multiply_slots(PRODUCTS, transform(PRODUCTS, answer.c1, engine), pair.private.secret, engine)
    at_places = tuple(take_products(x, answer.layout) for x in transform_back(PRODUCTS, shared, engine))
    opened = add(PRODUCTS, answer.c0, at_places)
    values = integers_of_residues(PRODUCTS, tuple(np.ascontiguousarray(x.T) for x in opened))
    delta = Q >> 60
    exact = (Q * int(y) >> 60 for y in exact_product(plain, numbers, 60).ravel())
    return np.array([float(centred(x - y) % delta) for x, y in zip(values, exact, strict=True)])


def test_noise_shows_only_where_masks_are_multiples_of_delta(pair, engine, monkeypatch) -> None:
    """Noise is a sum of errors that the holder knows, times the plain matrix: equal noise would tell equal matrices."""
    layout = lay_out_matrices(
        bits=60, rows=16, inner=16, columns=16, plain_bound=1 << 19, opened=True, drop_primes=False
    )
    rng, delta = np.random.default_rng(34), Q >> 60
    plain, numbers = draw_matrices(layout, rng)
    encrypted, prepared = encrypt_matrix(pair.private, numbers, layout, engine), prepare_matrix(plain, layout, engine)
    products = multiply_matrices(prepared, encrypted, engine=engine)
    with_rule = noise_seen(pair, mask_products(products, engine)[0], plain, numbers, engine)

    def draw_multiples(parameters, count, engine):
        masks = [delta * int(rng.integers(0, 1 << 59)) for _ in range(count)]
        return tuple(np.ascontiguousarray(x.T) for x in residues_at(parameters, masks))

    monkeypatch.setattr(answers_module, "draw_uniform", draw_multiples)
    noise = [noise_seen(pair, mask_products(products, engine)[0], plain, numbers, engine) for _ in range(2)]
    near = [np.minimum(x, delta - x) for x in (*noise, with_rule)]
    assert max(near[0].max(), near[1].max()) < layout.noise_bound + 2**60
    # Uniform below Delta: 2^-50 and less of it lies so near to a multiple.
    assert near[2].min() > 2.0**20 * layout.noise_bound
    print(f"seed 34: mean {with_rule.mean() / delta:.3f} of Delta")
    assert abs(with_rule.mean() / delta - 0.5) < 0.12


def test_two_encryptions_and_two_answers_have_nothing_in_common(pair, engine) -> None:
    rng = np.random.default_rng(35)
    plain, numbers = draw_matrices(OPENED, rng)
    prepared = prepare_matrix(plain, OPENED, engine)
    first, second = (encrypt_matrix(pair.private, numbers, OPENED, engine) for _ in range(2))
    assert first.seed != second.seed
    answers = [multiply_masked(prepared, encrypted, engine) for encrypted in (first, first, second)]
    for (one, own), (other, others_own) in ((answers[0], answers[1]), (answers[0], answers[2])):
        assert (own != others_own).all()
        for x, y in zip((*one.c1, *one.c0), (*other.c1, *other.c0), strict=True):
            assert np.count_nonzero(x == y) <= 1
    # Answers of one product never share a polynomial of the zero: second halves differ everywhere.
    a = answers[0][0].c1[0]
    assert len({x.tobytes() for x in a}) == len(a)


def test_errors_are_new_in_every_encryption_and_every_answer(pair, engine, monkeypatch) -> None:
    """Without v and e2 what is left in c0 of two products is e1 alone."""
    plain, numbers = draw_matrices(OPENED, np.random.default_rng(40))
    encryptions = [encrypt_matrix(pair.private, numbers, OPENED, engine) for _ in range(2)]
    phases = []
    for encrypted in encryptions:
        shared = multiply_slots(PRODUCTS, encrypted.second_halves(engine), pair.private.secret, engine)
        phases.append(transform_back(PRODUCTS, add_elements(PRODUCTS, encrypted.c0, shared, engine), engine))
    leave_out_zeros(monkeypatch, engine)
    prepared = prepare_matrix(plain, OPENED, engine)
    halves = [multiply_matrices(prepared, encryptions[0], engine=engine).c0 for _ in range(2)]
    for first, second in (phases, halves):
        for x, y in zip(first, second, strict=True):
            # CBD(21) less CBD(21): 0 in one of twelve.
            assert 0.85 < np.count_nonzero(x != y) / x.size < 0.99


def test_equal_errors_or_seeds_would_show_numbers_and_nobody_can_pass_any(pair, engine, monkeypatch) -> None:
    """The attack: with one seed twice, c0 less c0 is the difference of the numbers, and small errors."""
    layout = lay_out_matrices(bits=60, rows=1, inner=4, columns=4, plain_bound=1, opened=True)
    assert not {"seed", "rng", "errors", "randomness"} & set(inspect.signature(encrypt_matrix).parameters)
    monkeypatch.setattr(os, "urandom", lambda count: b"\7" * count)
    numbers = np.arange(16).reshape(4, 4)
    first, second = (encrypt_matrix(pair.private, x, layout, engine) for x in (numbers, numbers + 1))
    difference = tuple(
        engine.ring_sub(part, x, y)[0, 0] for part, x, y in zip(PRODUCTS.parts, second.c0, first.c0, strict=True)
    )
    shown = transform_back(PRODUCTS, difference, engine)
    values = integers_of_residues(PRODUCTS, tuple(np.ascontiguousarray(x.T) for x in shown))
    assert sum(value != 0 for value in values) == 16
    assert {value - (Q >> 60) for value in values if value} <= {0, 1}


def test_expanded_polynomials_of_the_parts_and_of_other_purposes_differ(engine) -> None:
    """Both parts take residues from streams of their own, and neither takes the stream of a public key."""
    seed = bytes(range(SEED_BYTES))
    first, second = expand(PRODUCTS, seed, 3, engine)
    streams = [x.tobytes() for part in (first, second) for polynomial in part for x in polynomial]
    streams += [x.tobytes() for part in expand_public(PRODUCTS, seed, engine) for x in part]
    assert len(set(streams)) == 3 * 4 + 4


def test_foreign_keys_are_refused(pair, engine) -> None:
    plain, numbers = draw_matrices(OPENED, np.random.default_rng(36))
    answer, _, _ = share_product(pair, OPENED, plain, numbers, engine)
    other = generate_keys(engine=engine)
    with pytest.raises(KeyRefusedError, match="another key") as refused:
        open_share(other.private, answer, engine)
    assert pair.public.fingerprint in str(refused.value)
    assert other.public.fingerprint in str(refused.value)
    foreign = Answer(other.public, OPENED, answer.primes, answer.c1, answer.c0)
    with pytest.raises(KeyRefusedError, match="different keys"):
        add_answers([answer, foreign], engine)


def test_malformed_matrices_answers_and_masks_are_refused(pair, engine) -> None:
    plain, numbers = draw_matrices(OPENED, np.random.default_rng(37))
    encrypted = encrypt_matrix(pair.private, numbers, OPENED, engine)
    products = multiply_matrices(prepare_matrix(plain, OPENED, engine), encrypted, engine=engine)
    answer = mask_products(products, engine)[0]
    large = [tuple(np.full_like(x, 1 << 48) for x in y) for y in (encrypted.c0, answer.c1, answer.c0)]
    for seed, c0 in (
        (encrypted.seed[:-1], encrypted.c0),
        (bytearray(encrypted.seed), encrypted.c0),
        (encrypted.seed, large[0]),
        (encrypted.seed, tuple(x[:, :0] for x in encrypted.c0)),
        (encrypted.seed, tuple(x.astype(np.int64) for x in encrypted.c0)),
    ):
        with pytest.raises(InputError):
            EncryptedMatrix(pair.public, OPENED, seed, c0)
    for primes, c1, c0 in (
        (2, large[1], answer.c0),
        (2, answer.c1, large[2]),
        (2, tuple(x[1:] for x in answer.c1), answer.c0),
        (2, answer.c1, tuple(x[:, 1:] for x in answer.c0)),
        (2, answer.c1, tuple(x.astype(np.int64) for x in answer.c0)),
        (4, products.c1, answer.c0),
    ):
        with pytest.raises(InputError):
            Answer(pair.public, OPENED, primes, c1, c0)
    with pytest.raises(InputError, match="cannot be masked"):
        mask_products(answer, engine)
    with pytest.raises(InputError, match="masks have the wrong layout"):
        cover_products(products, tuple(x[:, 1:] for x in draw_uniform(PRODUCTS, OPENED.numbers, engine)))
    whole = cover_products(products, draw_uniform(PRODUCTS, OPENED.numbers, engine))
    with pytest.raises(InputError, match="do not fit each other"):
        add_answers([answer, whole], engine)
    for added, taken in (([b"short"], []), ([bytes(32)], [bytes(32)]), ([bytes(32)] * 2, [])):
        with pytest.raises(InputError, match="seeds of masks refused"):
            cancelling_masks(OPENED, added, taken, engine)


def test_secrets_show_nothing(pair, engine) -> None:
    plain, numbers = draw_matrices(OPENED, np.random.default_rng(38))
    encrypted, prepared = encrypt_matrix(pair.private, numbers, OPENED, engine), prepare_matrix(plain, OPENED, engine)
    products = multiply_matrices(prepared, encrypted, engine=engine)
    shown = repr(prepared) + repr(products) + repr(encrypted) + repr(mask_products(products, engine)[0])
    hidden = {str(int(x)) for part in (*prepared.elements, *products.c0, *products.c1) for x in part.ravel()[:50]}
    assert not any(number in shown for number in hidden if len(number) > 6)
    assert pickle.loads(pickle.dumps(encrypted)).seed == encrypted.seed
