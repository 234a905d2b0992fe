"""The values whose e-th roots show that x -> x^e permutes the units mod n: the proof that comes with RSA and Paillier
keys.

A key's maker shows e-th roots mod n of ROOT_COUNT values that the key itself fixes by a hash. Where x -> x^e is no
permutation of the units, a prime r divides both e and the number of units. Then a value that is uniform mod n has an
e-th root with odds below 2^-15.4, so that a proof is found with odds below 2^-138 for every key that is tried:

- r divides p - 1 for a prime p of n: e-th powers are a part 1/r, or less, of the units mod p. With 0 they are at most
  1/r + 1/p of the residues mod p, and p >= 2r + 1.
- r^k divides n for a k of 2 or more: e-th powers are a part 1/r, or less, of the units mod r^k, a cyclic group of order
  r^(k-1) (r-1); among the other residues mod r^k only 0 is an e-th power. So e-th powers are at most 1/r of all
  residues.

r is above 2^16: RSA takes no smaller prime e, and Paillier, where e = n, no n with a smaller factor. All residues mod n
are counted, units or not.
Source: Goldberg-Reyzin-Sagga-Baldimtsi 2018, "Efficient Noninteractive Certification of RSA Moduli and Beyond".
"""

from __future__ import annotations

from typing import Final

ROOT_COUNT: Final = 9
CHALLENGE_ITEMS: Final = tuple(bytes([index]) for index in range(ROOT_COUNT))
