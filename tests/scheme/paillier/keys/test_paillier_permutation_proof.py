"""The proof that x -> x^n permutes: sound keys have one, keys under which answers tell what went in have none."""

from __future__ import annotations

import hashlib
import math
import pickle
import secrets
from collections.abc import Iterator

import gmpy2
import numpy as np
import pytest
from scipy import stats

from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.engine.select import get_engine
from hekat.errors import FaultError, KeyRefusedError
from hekat.scheme.foreign_modulus import check_foreign_modulus
from hekat.scheme.paillier import Ciphertexts, PrivateKey, PublicKey, add_plain, multiply_plain, rerandomise
from hekat.scheme.paillier.keys import permutation_proof as proof_module
from hekat.scheme.paillier.keys.permutation_proof import PROOF_DOMAIN, check_roots, find_roots
from hekat.scheme.paillier.keys.prime_half import PrimeHalf
from hekat.scheme.paillier.randomiser import djn_randomisers
from hekat.scheme.permutation_challenges import ROOT_COUNT
from hekat.wire import from_bytes, to_bytes

# What uniform answers fail by chance, once in 10^9 runs.
CHANCE = 1e-9
# What one party keeps to itself: the numbers it multiplies the other's ciphertexts with.
MULTIPLIERS = [12345, 0, -7, 40321]


def challenges_of(n: int) -> list[int]:
    """By definition, apart from the code under test."""
    key = n.to_bytes((n.bit_length() + 7) // 8, "big")
    framed = PROOF_DOMAIN + len(key).to_bytes(8, "big") + key
    width = (n.bit_length() + 128 + 7) // 8
    hashed = (hashlib.shake_256(framed + bytes([index])).digest(width) for index in range(9))
    return [int.from_bytes(data, "little") % n for data in hashed]


def test_a_sound_key_proves_itself(setting) -> None:
    public = setting.keys.public
    assert [pow(root, public.n, public.n) for root in public.roots] == challenges_of(public.n)
    assert PublicKey(public.n, public.roots) is public


def forgeries(public: PublicKey, other: PublicKey) -> Iterator[tuple[str, object]]:
    first, *rest = public.roots
    for place in range(ROOT_COUNT):
        yield f"one wrong, at {place}", tuple(root + (i == place) for i, root in enumerate(public.roots))
    yield "none", ()
    yield "too few", tuple(rest)
    yield "too many", (*public.roots, first)
    yield "in another order", public.roots[::-1]
    yield "one negative", (first - public.n, *rest)
    yield "one not reduced", (first + public.n, *rest)
    yield "of another key", other.roots
    yield "no integers", ("x",) * ROOT_COUNT
    yield "no tuple", None


def test_proofs_that_do_not_hold_are_refused(paillier_keys) -> None:
    public, other = paillier_keys(512).public, paillier_keys(512, 1).public
    for what, roots in forgeries(public, other):
        with pytest.raises(KeyRefusedError) as refusal:
            PublicKey(public.n, roots)  # type: ignore[arg-type]
        assert f"public key {public.fingerprint} is not shown to be sound" in str(refusal.value), what


def test_a_pickled_key_is_checked_where_it_is_read(paillier_keys) -> None:
    public = paillier_keys(512).public
    assert pickle.loads(pickle.dumps(public)) is public
    assert public.__reduce__() == (PublicKey, (public.n, public.roots))


@pytest.mark.parametrize("place", range(ROOT_COUNT))
def test_roots_that_were_computed_wrongly_are_not_given_out(monkeypatch, place: int) -> None:
    """A root that is right modulo one prime only gives the primes away."""
    right = proof_module._roots_mod

    def faulty(half: PrimeHalf, n: int, values: list[int]) -> list[int]:
        roots = right(half, n, values)
        return [root + (half.modulus.value == 59 and i == place) for i, root in enumerate(roots)]

    monkeypatch.setattr(proof_module, "_roots_mod", faulty)
    with pytest.raises(FaultError, match="it is not given out"):
        find_roots((PrimeHalf(47, 59), PrimeHalf(59, 47)))


def malformed_primes() -> tuple[int, int]:
    """p of 40 bits, and q of 216 bits that is 1 modulo p."""
    p = int(gmpy2.next_prime(3 << 38))
    q = (3 << 214) // (2 * p) * 2 * p + 1
    while not gmpy2.is_prime(q) or (q - 1) // p % p == 0:
        q += 2 * p
    return p, q


class MalformedKey:
    """Its maker's view: n passes all checks of n alone; a power takes n-th residues to 1, and leaves multipliers."""

    def __init__(self) -> None:
        self.p, self.q = malformed_primes()
        self.n = self.p * self.q
        check_foreign_modulus(self.n, 64, 8192)
        # No reader gives such a key: it is put into the process without its proof.
        self.public = PublicKey._trusted(self.n, ())
        # Kills all but the elements of order p mod q^2; n-th residues have none of them, nor has 1 + n.
        self._power = (self.p - 1) * ((self.q - 1) // self.p) * self.q
        self._base = next(g for g in range(2, 100) if self._seen(g) != 1)
        self._seen_base = self._seen(self._base)
        self._powers, power = {}, gmpy2.powmod(self._seen_base, -100, self.q**2)
        for x in range(-100, 50_000):
            self._powers[int(power)] = x
            power = power * self._seen_base % self.q**2

    def ciphertexts(self, count: int) -> Ciphertexts:
        """What it sends to be multiplied."""
        limbs = limbs_from_ints([self._base] * count, self.public.n_squared.limb_count)
        return Ciphertexts.from_limbs(self.public, limbs, get_engine("reference"))

    def read(self, answers: Ciphertexts) -> list[int | None]:
        """The multipliers, whatever masks and randomisers came on top."""
        return [self._powers.get(self._seen(answer)) for answer in ints_from_limbs(answers.to_limbs())]

    def _seen(self, value: int) -> int:
        return int(gmpy2.powmod(value, self._power, self.q**2))


@pytest.fixture(scope="module")
def malformed() -> MalformedKey:
    return MalformedKey()


def masked_answers(malformed: MalformedKey) -> Ciphertexts:
    """Products under masks uniform mod n, as parties make them, not yet re-randomised."""
    products = multiply_plain(malformed.ciphertexts(len(MULTIPLIERS)), np.array(MULTIPLIERS))
    most = malformed.public.plaintext_space.bound
    return add_plain(products, [secrets.randbelow(2 * most + 1) - most for _ in MULTIPLIERS])


def rerandomise_as_before(c: Ciphertexts) -> Ciphertexts:
    """(-1)^b1 (u^n)^b2 h_s^a, u of Jacobi symbol -1: what answers had before there was a proof."""
    n = c.public.n
    u = next(u for u in range(2, 1000) if gmpy2.jacobi(u, n) == -1)
    factors = [
        (1, n**2 - 1)[secrets.randbelow(2)] * (1, pow(u, n, n**2))[secrets.randbelow(2)] % n**2 for _ in range(c.size)
    ]
    mixed = c.engine.load(limbs_from_ints(factors, c.public.n_squared.limb_count), c.public.n_squared)
    return Ciphertexts(
        c.public,
        c.engine.mod_mul(c.residues, c.engine.mod_mul(mixed, djn_randomisers(c.public, c.size, c.engine))),
    )


def test_a_malformed_key_reads_multipliers_through_masks_and_randomisers(malformed) -> None:
    assert malformed.read(rerandomise_as_before(masked_answers(malformed))) == MULTIPLIERS
    # Uniform r^n alone is no cure: the key has to be refused.
    assert malformed.read(rerandomise(masked_answers(malformed))) == MULTIPLIERS


def test_a_malformed_key_is_refused_as_it_has_no_proof(malformed, paillier_keys) -> None:
    # An n-th power is a p-th power mod q, which takes (q - 1) / p to 1: no challenge has a root, but for odds of 1/p.
    exponent = (malformed.q - 1) // malformed.p
    assert all(pow(value, exponent, malformed.q) != 1 for value in challenges_of(malformed.n))
    with pytest.raises(ValueError, match="not invertible"):
        find_roots((PrimeHalf(malformed.p, malformed.q), PrimeHalf(malformed.q, malformed.p)))
    best = tuple(pow(value, -1, malformed.n) for value in challenges_of(malformed.n))
    for roots in ((), paillier_keys(512).public.roots, best):
        with pytest.raises(KeyRefusedError, match="not shown to be sound"):
            PublicKey(malformed.n, roots)
    with pytest.raises(KeyRefusedError, match="not shown to be sound"):
        from_bytes(to_bytes(malformed.public), PublicKey, unsafe_for_benchmark=True)


@pytest.mark.quick_values
@pytest.mark.parametrize(("n", "sent"), [(5 * 7, 2), (5 * 7, 36), (3 * 5, 2), (3 * 7, 2)])
def test_answers_are_uniform_units_if_and_only_if_the_key_permutes(n: int, sent: int) -> None:
    """c^x (1 + m n) r^n with m and r uniform, for a c of the key holder's choice: it tells nothing of x, or does."""
    public, engine = PublicKey._trusted(n, ()), get_engine("reference")
    units = [value for value in range(n * n) if math.gcd(value, n) == 1]
    count = 25 * len(units)
    permutes = math.gcd(n, len(units) // n) == 1
    for x in (0, 1):
        limbs = limbs_from_ints([pow(sent, x, n * n)] * count, 1)
        masks = [secrets.randbelow(n) - n // 2 for _ in range(count)]
        answers = rerandomise(add_plain(Ciphertexts.from_limbs(public, limbs, engine), masks))
        values = [value for value in ints_from_limbs(answers.to_limbs()) if math.gcd(value, n) == 1]
        found = np.bincount(np.searchsorted(units, values), minlength=len(units))
        assert (stats.chisquare(found).pvalue > CHANCE) == permutes


def test_an_n_with_a_square_in_it_has_no_proof() -> None:
    """p^2 q is no perfect power, and has no small factor; 1 + p q has order p, so that powers n are not unique."""
    p, q = int(gmpy2.next_prime(3 << 60)), int(gmpy2.next_prime(3 << 62))
    n = p * p * q
    check_foreign_modulus(n, 64, 8192)
    assert pow(1 + p * q, n, n) == 1
    # An n-th power mod p^2 is a p-th one: it takes p - 1 to 1.
    assert all(pow(value, p - 1, p * p) != 1 for value in challenges_of(n))
    with pytest.raises(KeyRefusedError, match="not shown to be sound"):
        PublicKey(n, (1,) * ROOT_COUNT)


def test_three_primes_that_permute_are_taken() -> None:
    """What is not proven: that there are two primes, or safe ones. It is not needed for answers to hide."""
    primes = [int(gmpy2.next_prime(3 << bits)) for bits in (40, 60, 80)]
    n = math.prod(primes)
    exponent = pow(n, -1, math.prod(prime - 1 for prime in primes))
    check_roots(n, tuple(pow(value, exponent, n) for value in challenges_of(n)), "of three primes")


@pytest.mark.parametrize("n", [3 * 7, 5 * 11, 3 * 3 * 5, 3 * 3 * 7, 7 * 29, 5 * 5 * 5 * 3, 3 * 7 * 5])
def test_how_few_residues_have_roots_where_there_is_no_permutation(n: int) -> None:
    """At most 1/r + 1/(2r + 1) of all, units or not, for a prime r that divides both n and the number of units."""
    units = sum(math.gcd(x, n) == 1 for x in range(n))
    shared = [r for r in range(2, n) if gmpy2.is_prime(r) and math.gcd(n, units) % r == 0]
    with_root = len({pow(x, n, n) for x in range(n)}) / n
    assert shared
    assert with_root <= min(1 / r + 1 / (2 * r + 1) for r in shared)


def test_what_nine_roots_prove() -> None:
    """Factors below 2^16 were refused: odds below 2^-128 with nine roots, not with eight."""
    r = 65537
    bits = -math.log2(1 / r + 1 / (2 * r + 1))
    assert bits > 15.4
    assert 8 * bits < 128 < 138 < ROOT_COUNT * bits


def test_a_private_key_has_its_proof_when_it_is_made(paillier_keys) -> None:
    """So does the owner of a file that an earlier release wrote."""
    private = paillier_keys(512).private
    again = from_bytes(to_bytes(private), PrivateKey, unsafe_for_benchmark=True)
    check_roots(again.public.n, again.public.roots, "its own")
