"""How a modulus lies on a GPU: threads to a residue, limbs to a thread, one number or a pair."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.engine.interface import Modulus

WORD_BITS = 32
BLOCK_THREADS = 128
# A thread's registers hold no more limbs of a pair; the threads of one warp are enough for 16384 bits.
MAX_LIMBS = 16
WARP_THREADS = 32
MAX_WORDS = WARP_THREADS * MAX_LIMBS
"""32-bit words of the longest number that a group holds."""
POWERS = 6
"""Powers of R that a modulus' constants hold: `kPowers` in residue.cuh."""


@dataclass(frozen=True)
class Layout:
    """One instance of the kernels: the parameters in their compile options.

    Residues mod n lie in rows of `row_words` 32-bit words: threads * limbs of them, twice as many for pairs mod the
    root of n. R is 2^(32 * threads * limbs).
    """

    threads: int
    limbs: int
    pairs: bool

    @property
    def words(self) -> int:
        """32-bit words of one number."""
        return self.threads * self.limbs

    @property
    def row_words(self) -> int:
        return self.words * (2 if self.pairs else 1)

    @property
    def constants_words(self) -> int:
        """Words of a modulus' constants for kernels: n itself, then the powers of R."""
        return self.words + POWERS * self.row_words

    @property
    def groups_per_block(self) -> int:
        return BLOCK_THREADS // self.threads

    @property
    def options(self) -> tuple[str, ...]:
        """Compile options, in the form that NVRTC and C++ compilers share."""
        return (
            f"-DHEKAT_THREADS={self.threads}",
            f"-DHEKAT_LIMBS={self.limbs}",
            f"-DHEKAT_PAIRS={int(self.pairs)}",
        )


def choose_layout(modulus: Modulus) -> Layout:
    """The layout for a modulus: pairs where its root is known, and the fewest threads whose registers hold it.

    The fastest on an H200 at 1024, 2048 and 3072 bits: section `layouts` of benchmarks/bench_cuda.py.
    """
    if modulus.root is not None:
        return layout_for(modulus.root.bit_length(), pairs=True)
    return layout_for(modulus.bits, pairs=False)


def layout_for(bits: int, *, pairs: bool) -> Layout:
    """The layout for numbers of up to `bits` bits, at most 32 MAX_WORDS."""
    words = -(-bits // WORD_BITS)
    threads = 1
    while threads * MAX_LIMBS < words:
        threads *= 2
    limbs = -(-words // threads)
    return Layout(threads, limbs + limbs % 2, pairs)
