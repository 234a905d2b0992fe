"""Cross products of two parties: exact in shares, masked for the key's holder, refused where malformed."""

from __future__ import annotations

import gmpy2
import numpy as np
import pytest
from scipy.sparse import csr_array

from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.errors import PartyStoppedError, ProtocolError
from hekat.plaintext_space import PackedPlaintext
from hekat.protocol.shares.share_array import (
    add_shares,
    constant,
    matmul_integers,
    random_shares,
    signed_integers,
    subtract,
)
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_linear.shared_weights.cross_products import paillier as cross_products
from hekat.protocol.vertical_linear.shared_weights.cross_products import whole_mask
from hekat.protocol.vertical_linear.shared_weights.cross_products.paillier import PaillierCrossProducts
from hekat.protocol.vertical_linear.shared_weights.cross_products.plain import PlainCrossProducts
from hekat.protocol.vertical_linear.shared_weights.cross_products.slots import CARRY_UNITS, MARGIN_BITS, SlotLayout
from hekat.protocol.vertical_linear.shared_weights.messages import FactorsMessage, ProductsMessage
from hekat.scheme.paillier import Ciphertexts, encrypt
from hekat.wire import from_bytes, to_bytes

GUEST, HOST = "bank", "shop"
RING = 1 << 128
KEY_BITS = 1024


@pytest.fixture(scope="module")
def sides(paillier_keys):
    """Makes each party's cross_products over its channel."""
    guest, host = paillier_keys[KEY_BITS][0], paillier_keys[KEY_BITS][1]

    def make(name, channel, protection="paillier"):
        peer = HOST if name == GUEST else GUEST
        if protection == "none":
            return PlainCrossProducts(channel, peer, Stopwatch())
        own, foreign = (guest, host) if name == GUEST else (host, guest)
        return PaillierCrossProducts(channel, peer, own.private, foreign.public, Stopwatch())

    return make


def product_in_shares(converse, sides, matrix, factors, layout, protection="paillier"):
    """The guest's matrix times the host's factors: (guest's shares, host's shares)."""
    shape = (matrix.shape[0], factors.shape[1])

    def guest(channel):
        side = sides(GUEST, channel, protection)
        return side.answer("p", matrix, side.receive_factors("f", factors.shape[:2], layout), layout)

    def host(channel):
        side = sides(HOST, channel, protection)
        side.send_factors("f", factors, layout)
        return side.open_answer("p", shape, layout)

    results = converse(guest, host)
    return results[GUEST], results[HOST]


def check_carried(sums, expected, layout, protection="paillier"):
    """The products (rows, m) are as expected, or a unit more above the lowest slot."""
    found = np.array(ints_from_limbs(sums), object).reshape(expected.shape)
    beyond = (found - expected) % RING
    assert (beyond <= CARRY_UNITS).all()
    assert (beyond[:: layout.slot_count] == 0).all()
    if protection == "none":
        assert (beyond == 0).all()


@pytest.mark.parametrize("protection", ["paillier", "none"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "shares"])
def test_products_are_exact_in_shares(converse, sides, kind, protection):
    rng = np.random.default_rng(5)
    factors = random_shares((3, 2))
    values = np.array(ints_from_limbs(factors), object).reshape(3, 2)
    if kind == "shares":
        matrix = random_shares((5, 3))
        integers, layout = signed_integers(matrix), SlotLayout(258, 2, KEY_BITS)
    else:
        integers = rng.integers(-(2**31) + 1, 2**31, (5, 3)) * (rng.random((5, 3)) < 0.7)
        matrix = csr_array(integers) if kind == "sparse" else integers
        layout = SlotLayout(161, 4, KEY_BITS)
    guests, hosts = product_in_shares(converse, sides, matrix, factors, layout, protection)
    expected = integers.astype(object) @ values
    check_carried(add_shares(guests, hosts), expected, layout, protection)


@pytest.mark.parametrize("sign", [1, -1])
def test_extreme_products_are_exact_in_every_slot(converse, sides, sign):
    matrix = np.full((8, 2), sign * (2**31 - 1))
    factors = np.full((2, 1, 2), 2**64 - 1, np.uint64)
    layout = SlotLayout(161, 4, KEY_BITS)
    guests, hosts = product_in_shares(converse, sides, matrix, factors, layout)
    expected = np.full((8, 1), sign * 2 * (2**31 - 1) * (RING - 1))
    check_carried(add_shares(guests, hosts), expected, layout)


@pytest.mark.parametrize("protection", ["paillier", "none"])
def test_columns_packed_in_a_row_are_multiplied_exactly(converse, sides, protection):
    rng = np.random.default_rng(6)
    matrix, columns = rng.integers(-(2**20), 2**20, (4, 6)), rng.integers(-(2**20), 2**20, (6, 7))
    layout = SlotLayout(64, 3, KEY_BITS, MARGIN_BITS)

    def guest(channel):
        side = sides(GUEST, channel, protection)
        own = side.answer_columns("p", matrix, side.receive_columns("c", (6, 7), layout), layout, 7)
        raised = np.broadcast_to(constant(1 << 21), (6, 1, 2))
        return subtract(own, matmul_integers(matrix, raised))

    def host(channel):
        side = sides(HOST, channel, protection)
        side.send_columns("c", columns, 21, layout)
        return side.open_columns("p", (4, 7), layout)

    results = converse(guest, host)
    found = signed_integers(add_shares(results[GUEST], results[HOST]))
    assert np.array_equal(found, (matrix @ columns).astype(object))


@pytest.mark.parametrize("protection", ["paillier", "none"])
def test_inner_products_add_up_over_several_factors(converse, sides, protection):
    own, theirs = [random_shares((3, 2)) for _ in range(2)], [random_shares((3, 2)) for _ in range(2)]
    packed, single = SlotLayout(163, 3, KEY_BITS), SlotLayout(262, 1, KEY_BITS)

    def guest(channel):
        side = sides(GUEST, channel, protection)
        total = None
        for turn, shares in enumerate(own):
            factors = side.receive_factors(f"f{turn}", (3, 2), packed)
            total = side.inner_product(shares, factors, total)
        return side.answer("p", np.ones((1, 1), np.int64), total, single)

    def host(channel):
        side = sides(HOST, channel, protection)
        for turn, shares in enumerate(theirs):
            side.send_factors(f"f{turn}", shares, packed)
        return side.open_answer("p", (1, 1), single)

    results = converse(guest, host)
    expected = sum(
        int(a) * int(b)
        for x, y in zip(own, theirs, strict=True)
        for a, b in zip(*map(ints_from_limbs, (x, y)), strict=True)
    )
    assert ints_from_limbs(add_shares(results[GUEST], results[HOST])) == [expected % RING]


def test_what_the_key_holder_opens_does_not_depend_on_the_secret(converse, sides, monkeypatch):
    layout = SlotLayout(161, 4, KEY_BITS)
    factors = random_shares((2, 1))
    opened = {}
    real = whole_mask.decrypt
    for secret in (0, 2**31 - 1):
        seen = opened.setdefault(secret, [])
        monkeypatch.setattr(
            whole_mask, "decrypt", lambda *args, seen=seen, **kwargs: (seen.append(real(*args, **kwargs)), seen[-1])[1]
        )
        product_in_shares(converse, sides, np.full((1600, 2), secret), factors, layout)
    for plains in opened.values():
        whole = [value for plain in plains for value in ints_from_limbs(plain.limbs)]
        assert len(whole) == 400
        # Uniform in (-n/2, n/2]: every bit of it below those of n's top a fair coin.
        for bit in range(KEY_BITS - 8):
            assert abs(sum(value >> bit & 1 for value in whole) - 200) < 6 * 10


def test_a_marked_factor_cannot_be_followed_into_the_answer(converse, sides, paillier_keys):
    """A key's holder sends factors under randomisers of Jacobi symbol -1, and looks for the symbol in the answer."""
    keys = paillier_keys[KEY_BITS][1]
    n = keys.public.n
    mark = next(r for r in range(2, 100) if gmpy2.jacobi(r, n) == -1)
    layout = SlotLayout(161, 1, KEY_BITS)
    answers = []

    def host(channel):
        clean = encrypt(keys.private, PackedPlaintext(np.zeros((1, 3), np.uint64), 1), variant="djn")
        marked = gmpy2.powmod(mark, n, n * n) * ints_from_limbs(clean.to_limbs())[0] % (n * n)
        limbs = limbs_from_ints([int(marked)], keys.public.n_squared.limb_count).reshape(1, 1, -1)
        channel.send(GUEST, "f", FactorsMessage(to_bytes(Ciphertexts.from_limbs(keys.public, limbs))))
        message = channel.receive(GUEST, "p", ProductsMessage)
        answers.extend(ints_from_limbs(from_bytes(message.ciphertexts, Ciphertexts, public_key=keys.public).to_limbs()))

    def guest(channel):
        side = sides(GUEST, channel)
        # Every entry is odd: with randomisers of one symbol every answer keeps the mark.
        side.answer("p", np.full((400, 1), 7), side.receive_factors("f", (1, 1), layout), layout)

    converse(guest, host)
    marks = sum(gmpy2.jacobi(answer % n, n) == -1 for answer in answers)
    assert len(answers) == 400
    assert abs(marks - 200) < 6 * 10


@pytest.mark.parametrize("protection", ["paillier", "none"])
def test_another_number_of_factors_is_refused(converse, sides, protection):
    layout = SlotLayout(161, 2, KEY_BITS)

    def guest(channel):
        return sides(GUEST, channel, protection).receive_factors("f", (4, 1), layout)

    def host(channel):
        sides(HOST, channel, protection).send_factors("f", random_shares((3, 1)), layout)

    with pytest.raises(PartyStoppedError, match="shop sent another number of values in f") as caught:
        converse(guest, host)
    assert isinstance(caught.value.__cause__, ProtocolError)


def test_another_number_of_answers_is_refused(converse, sides):
    layout = SlotLayout(161, 2, KEY_BITS)
    factors = random_shares((2, 1))

    def guest(channel):
        side = sides(GUEST, channel)
        side.answer("p", np.ones((2, 2), np.int64), side.receive_factors("f", (2, 1), layout), layout)

    def host(channel):
        side = sides(HOST, channel)
        side.send_factors("f", factors, layout)
        return side.open_answer("p", (5, 1), layout)

    with pytest.raises(PartyStoppedError, match="bank sent another number of values in p"):
        converse(guest, host)


def test_a_batch_beyond_one_message_is_refused_before_it_is_encrypted(converse, sides, monkeypatch):
    monkeypatch.setattr(cross_products, "MAX_MESSAGE_BYTES", 20 * 2 * KEY_BITS // 8)
    monkeypatch.setattr(cross_products, "encrypt", lambda *_: pytest.fail("encrypted"))
    layout = SlotLayout(161, 1, KEY_BITS)

    def guest(channel):
        sides(GUEST, channel).receive_factors("f", (21, 1), layout)

    def host(channel):
        sides(HOST, channel).send_factors("f", random_shares((21, 1)), layout)

    with pytest.raises(PartyStoppedError, match="too large for one message"):
        converse(guest, host)
