"""What vertical training is measured beside: form `arbiter` with one ciphertext a value, one value at a time, in gmpy2.

The steps follow Hardy et al. 2017: the host encrypts its score of every row, the guest adds its own part to each
and re-randomises it, each party raises every ciphertext to the power of every feature and multiplies, masks its
gradient uniformly, the arbiter decrypts by the Chinese remainder theorem, the party takes the mask away. Randomisers
are powers of one base to short exponents (`djn`) as Hekat's are, or full powers r^n as in the textbook. Inverses, for
negative features, are made once a ciphertext, all in one batch. Nothing is constant time.
"""

from __future__ import annotations

import secrets
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gmpy2
import numpy as np
import numpy.typing as npt
import phe

from measuring.peers import Textbook, random_below
from vertical.data import JoinedColumns, stored_keys

IntArray = npt.NDArray[np.int64]

FEATURE_BITS, VALUE_BITS = 16, 32
REPEATS = 3
PHE_ROWS = 32


class ElementWise:
    """One key in gmpy2, and the seconds of what was done under it, by step."""

    def __init__(self, p: int, q: int, variant: str = "djn") -> None:
        self.book = Textbook(p, q)
        self.seconds: dict[str, float] = defaultdict(float)
        self._short_bits = -(-self.book.n.bit_length() // 2)
        x = random_below(self.book.n)
        self._base = gmpy2.powmod(self.book.n - x * x % self.book.n, self.book.n, self.book.n2)
        self._randomiser = {"djn": self._short_power, "textbook": self.book.randomiser}[variant]

    def run_batch(
        self, guest: IntArray, host: IntArray, guest_scores: IntArray, host_scores: IntArray
    ) -> tuple[list[int], list[int]]:
        """X^T d of one batch at the guest and at the host, in integers, for d = guest_scores + host_scores.

        `guest` and `host` (rows, columns) are features at their scale, scores (rows,) the parties' parts of d.
        """
        book = self.book
        with self._measure("encrypt logits"):
            sent = [self._encrypt(m) for m in host_scores.tolist()]
        with self._measure("fore gradient"):
            d = [
                c * (1 + m * book.n) % book.n2 * self._randomiser() % book.n2
                for c, m in zip(sent, guest_scores.tolist(), strict=True)
            ]
        return self._open_gradient(guest, d), self._open_gradient(host, d)

    def _open_gradient(self, features: IntArray, d: Sequence[Any]) -> list[int]:
        book = self.book
        with self._measure("gradient"):
            products = book.matmul(features.T.tolist(), d)
            masks = [random_below(book.n) for _ in products]
            masked = [
                c * (1 + m * book.n) % book.n2 * book.randomiser() % book.n2
                for c, m in zip(products, masks, strict=True)
            ]
        with self._measure("decrypt"):
            opened = [book.decrypt(c) for c in masked]
        return [self._centred(m - mask) for m, mask in zip(opened, masks, strict=True)]

    def _encrypt(self, m: int) -> Any:
        return (1 + m * self.book.n) * self._randomiser() % self.book.n2

    def _short_power(self) -> Any:
        return gmpy2.powmod(self._base, secrets.randbits(self._short_bits), self.book.n2)

    def _centred(self, m: Any) -> int:
        m %= self.book.n
        return int(m - self.book.n if m > self.book.n // 2 else m)

    @contextmanager
    def _measure(self, step: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[step] += time.perf_counter() - start


class PheWise:
    """The same by python-paillier's own numbers, which do one operation at a time; without masks."""

    def __init__(self, p: int, q: int) -> None:
        self._public = phe.PaillierPublicKey(p * q)
        self._private = phe.PaillierPrivateKey(self._public, p, q)

    def run_batch(
        self, guest: IntArray, host: IntArray, guest_scores: IntArray, host_scores: IntArray
    ) -> tuple[list[int], list[int]]:
        """As `ElementWise.run_batch`."""
        sent = [self._public.encrypt(m) for m in host_scores.tolist()]
        d = [c + m for c, m in zip(sent, guest_scores.tolist(), strict=True)]
        for c in d:
            c.obfuscate()
        return self._open_gradient(guest, d), self._open_gradient(host, d)

    def _open_gradient(self, features: IntArray, d: list[Any]) -> list[int]:
        columns = features.T.tolist()
        products = [sum(c * x for c, x in zip(d, column, strict=True)) for column in columns]
        return [self._private.decrypt(c) for c in products]


def measure_peers(data: JoinedColumns, key_bits: int, sample_rows: int, batch_rows: int) -> list[dict[str, Any]]:
    """A row for each peer: seconds of one batch of `sample_rows` rows in one process, and of all rows by rows.

    What a batch does once for each column, not for each row, is scaled by batches.
    """
    private = stored_keys(key_bits)[0].private
    batches = -(-len(data.labels) // batch_rows)
    rows = []
    for name, sample, make in (
        ("gmpy2, djn", sample_rows, lambda: ElementWise(private.p, private.q)),
        ("gmpy2, textbook", sample_rows, lambda: ElementWise(private.p, private.q, "textbook")),
        ("phe", min(sample_rows, PHE_ROWS), lambda: PheWise(private.p, private.q)),
    ):
        per_row, per_batch = _measure_parts(make(), draw_integers(data, sample))
        seconds = per_row * len(data.labels) + per_batch * batches
        rows.append(
            {
                "peer": name,
                "key_bits": key_bits,
                "sample_rows": sample,
                "row_ms": 1e3 * per_row,
                "batch_ms": 1e3 * per_batch,
                "scaled_s": seconds,
            }
        )
        print(f"{name}, {key_bits} bits: {seconds:,.0f} s", flush=True)
    return rows


def set_beside(peers: list[dict[str, Any]], ours: list[dict[str, Any]], times_to_reach: float) -> None:
    """Add how many times ours a peer's epoch takes: `times_ours` in one process, over our run of form arbiter on all
    cores; `times_ours_two_processes` grants the peer two processes at no loss."""
    seconds = {
        row["key_bits"]: row["seconds"] for row in ours if row["form"] == "arbiter" and row["protection"] == "paillier"
    }
    for peer in peers:
        times = peer["scaled_s"] / seconds[peer["key_bits"]]
        peer |= {"times_ours": times, "times_ours_two_processes": times / 2, "reached": times >= times_to_reach}


def draw_integers(data: JoinedColumns, row_count: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Features at their scale, the guest's with a column of ones, and the parts of d that some first weights give."""
    weights = np.random.default_rng(1).normal(size=data.joined.shape[1])
    guest, host = data.guest[:row_count], data.host[:row_count]
    guest_scores = 0.25 * (guest @ weights[: guest.shape[1]]) - 0.5 * (2 * data.labels[:row_count] - 1)
    host_scores = 0.25 * (host @ weights[guest.shape[1] :])
    guest = np.hstack([np.ones((len(guest), 1)), guest])
    features = (np.rint(np.ldexp(part, FEATURE_BITS)).astype(np.int64) for part in (guest, host))
    scores = (np.rint(np.ldexp(part, VALUE_BITS)).astype(np.int64) for part in (guest_scores, host_scores))
    return *features, *scores  # type: ignore[return-value]


def _measure_parts(peer: Any, batch: tuple[IntArray, IntArray, IntArray, IntArray]) -> tuple[float, float]:
    """Seconds of processor time a row, and a batch beside its rows: medians, from a batch and its first half."""
    whole, half = ([part[: len(part) // share] for part in batch] for share in (1, 2))
    check_gradient(peer.run_batch(*half), half)
    turns = [
        (_process_s(lambda: peer.run_batch(*whole)), _process_s(lambda: peer.run_batch(*half))) for _ in range(REPEATS)
    ]
    per_row = statistics.median((a - b) / (len(whole[0]) - len(half[0])) for a, b in turns)
    return per_row, max(0.0, statistics.median(a - per_row * len(whole[0]) for a, _ in turns))


def check_gradient(found: tuple[list[int], list[int]], batch: Sequence[IntArray]) -> None:
    """Raise SystemExit unless a peer's gradients are the plain ones."""
    guest, host, guest_scores, host_scores = batch
    d = (guest_scores + host_scores).astype(object)
    for products, features in zip(found, (guest, host), strict=True):
        if products != (features.T.astype(object) @ d).tolist():
            raise SystemExit("a peer's gradient is not the plain one")


def _process_s(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start
