"""Prices attacks on every lattice parameter set, prints them beside the recorded ones, and fails below 128 bits.

.venv/bin/python security/estimate.py            the table; exit status 1 where a set fails or a record is stale
.venv/bin/python security/estimate.py --record   writes this script's figures into recorded.json
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from math import ceil, comb, log2, prod, sqrt
from pathlib import Path
from typing import Any

import dual
import primal
import revealed_sum
from reduction import Attack, CoreSvp, Instance, Matzov

from hekat.engine.ring.interface import CBD_BOUND
from hekat.engine.ring.parameters import DEGREES
from hekat.scheme.bfv import SETS as BFV_SETS
from hekat.scheme.bin_sums import SETS as BIN_SETS
from hekat.scheme.bin_sums.layout import KNOWN_BITS_OF_A_COEFFICIENT
from hekat.scheme.lattice.sets import SETS

RECORDED = Path(__file__).with_name("recorded.json")
GATE_BITS = 128
# Of a coefficient from CBD(21).
SPREAD = sqrt(CBD_BOUND / 2)
TRANSCRIBED = "public estimator, transcribed"
# Of this script's figures to themselves; floating point alone may move them.
SAME_BITS = 0.02
# To the public estimator's, which are given in whole bits or searched in other steps.
PUBLIC_BITS = 0.5


@dataclass(frozen=True)
class Target:
    """What is priced under a set's name: its ring, and the LWE that an attacker faces."""

    degree: int
    primes: tuple[int, ...]
    instance: Instance


def targets() -> dict[str, Target]:
    """Every set of the lattice scheme, to whoever knows the sum of secrets, then those of BFV and of sums by bins, to
    whoever holds their public key and any number of ciphertexts."""
    found = {}
    for name, parameters in SETS.items():
        ring = parameters.form.ring
        found[name] = Target(ring.degree, ring.primes, revealed_sum.lwe(ring.degree, ring.modulus))
    rings = [(name, bfv.degree, bfv.primes) for name, bfv in BFV_SETS.items()]
    rings += [(name, bins.degree, bins.ring.primes) for name, bins in BIN_SETS.items()]
    for name, degree, primes in rings:
        found[name] = Target(degree, primes, Instance(degree, log2(prod(primes)), SPREAD, SPREAD))
    return found


def partly_known_v(degree: int, sent_bits: int) -> Instance:
    """What hides a host's digits from a guest that lies about its public pair: v, less the coefficients that fill as
    many bits as such a guest may open in an answer, and c1 rounded to integers mod 2^sent_bits.
    """
    known = ceil(KNOWN_BITS_OF_A_COEFFICIENT * degree / _entropy_of_small())
    return Instance(degree - known, sent_bits, SPREAD, sqrt(1 / 12))


def _entropy_of_small() -> float:
    """Bits of a coefficient from CBD(21)."""
    coins = 2 * CBD_BOUND
    odds = [comb(coins, ones) / 2**coins for ones in range(coins + 1)]
    return -sum(p * log2(p) for p in odds)


@dataclass(frozen=True)
class Estimate:
    """All attacks on one instance, priced by MATZOV's model and by core-SVP."""

    matzov: tuple[Attack, ...]
    core_svp: tuple[Attack, ...]

    @property
    def matzov_best(self) -> Attack:
        """The cheapest attack in gates: the figure of the gate."""
        return min(self.matzov, key=lambda attack: attack.bits)

    @property
    def core_svp_best(self) -> Attack:
        """The cheapest attack by core-SVP, printed beside it."""
        return min(self.core_svp, key=lambda attack: attack.bits)

    def figures(self) -> dict[str, float]:
        """Every attack's bits by its name and model."""
        of_model = (("MATZOV", self.matzov), ("core-SVP", self.core_svp))
        return {f"{attack.name}, {model}": round(attack.bits, 2) for model, attacks in of_model for attack in attacks}


@cache
def estimate(instance: Instance) -> Estimate:
    """The primal and dual attacks; core-SVP is defined for those that make one kind of call."""
    matzov, core_svp = Matzov(), CoreSvp()
    return Estimate(
        tuple(
            attack(instance, matzov)
            for attack in (primal.unique_svp, primal.bounded_distance, dual.distinguish, dual.hybrid)
        ),
        tuple(attack(instance, core_svp) for attack in (primal.unique_svp, dual.distinguish)),
    )


def largest_modulus_bits(degree: int) -> int:
    """The largest whole L for which every modulus below 2^L keeps the gate at this degree."""
    low, high = degree // 64, degree // 16
    while low < high:
        bits = (low + high + 1) // 2
        if estimate(revealed_sum.lwe(degree, 1 << bits)).matzov_best.bits >= GATE_BITS:
            low = bits
        else:
            high = bits - 1
    return low


def estimate_sets() -> dict[str, Estimate]:
    """The estimate of every set by its name."""
    return {name: estimate(target.instance) for name, target in targets().items()}


def complaints(estimates: dict[str, Estimate], recorded: dict[str, Any]) -> list[str]:
    """What is wrong: a set below the gate, without a record or other than recorded. Empty where all is well."""
    known = targets()
    found = [f"{name} is recorded and no longer a set" for name in recorded["sets"].keys() - estimates.keys()]
    for name, got in estimates.items():
        bits = got.matzov_best.bits
        if bits < GATE_BITS:
            found.append(f"{name}: {bits:.1f} bits by MATZOV, fewer than {GATE_BITS}")
        record = recorded["sets"].get(name)
        if record is None:
            found.append(f"{name} has no recorded figures: --record writes them")
            continue
        if (record["degree"], tuple(record["primes"])) != (known[name].degree, known[name].primes):
            found.append(f"{name}: the record is of another ring")
        found += _differences(name, got, record)
    return found


def _differences(name: str, got: Estimate, record: dict[str, Any]) -> Iterable[str]:
    figures, own = got.figures(), record["own script"]
    for attack in figures.keys() | own.keys():
        if abs(figures.get(attack, 0.0) - own.get(attack, 0.0)) > SAME_BITS:
            yield f"{name}, {attack}: {figures.get(attack)} bits, recorded {own.get(attack)}"
    for source, public in _public_bits(record).items():
        if abs(got.matzov_best.bits - public) > PUBLIC_BITS:
            yield f"{name}: {got.matzov_best.bits:.1f} bits by MATZOV, {public} by the {source}"


def _public_bits(record: dict[str, Any]) -> dict[str, float]:
    """The recorded figures of the public estimator by MATZOV's costs, least over its attacks."""
    bits = {"specification": record["specification"]} if "specification" in record else {}
    if TRANSCRIBED in record:
        bits[TRANSCRIBED] = min(record[TRANSCRIBED]["MATZOV"].values())
    return bits


def table(estimates: dict[str, Estimate], recorded: dict[str, Any]) -> str:
    """One line for each set: its ring, every attack, the figure of the gate and the recorded public ones."""
    some = next(iter(estimates.values())).figures()
    known = targets()
    lines = [" | ".join(["set", "N", "log2 q", *some, "least by MATZOV", "by", "least by core-SVP", "estimator's"])]
    for name, got in estimates.items():
        record, modulus = recorded["sets"].get(name, {}), prod(known[name].primes)
        public = " and ".join(str(bits) for bits in _public_bits(record).values()) or "-"
        cells = [name, str(known[name].degree), str(modulus.bit_length())]
        cells += [f"{attack.bits:.1f}" for attack in (*got.matzov, *got.core_svp)]
        cells += [f"{got.matzov_best.bits:.1f}", got.matzov_best.name, f"{got.core_svp_best.bits:.1f}", public]
        lines.append(" | ".join(cells))
    return "\n".join(lines)


def _record(estimates: dict[str, Estimate], recorded: dict[str, Any]) -> None:
    old, known = recorded["sets"], targets()
    recorded["sets"] = {
        name: {"degree": known[name].degree, "primes": list(known[name].primes)}
        | {"own script": got.figures()}
        | {key: old[name][key] for key in ("specification", TRANSCRIBED) if key in old.get(name, {})}
        for name, got in estimates.items()
    }
    recorded["largest modulus bits"] = {str(degree): largest_modulus_bits(degree) for degree in DEGREES}
    RECORDED.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> int:
    """Exit status of the command."""
    parser = argparse.ArgumentParser(description="Security estimates of the lattice parameter sets.")
    parser.add_argument("--record", action="store_true", help="write this script's figures into recorded.json")
    arguments = parser.parse_args()
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    estimates = estimate_sets()
    if arguments.record:
        _record(estimates, recorded)
    print(table(estimates, recorded))
    found = complaints(estimates, recorded)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
