"""Lattice aggregation beside TenSEAL and NumPy in one run, on one core and on two, at 16, 24 and 32 bits.

    aggregation  the 1,663,370 values and 3 clients of FedML-HE's Table 5: one party's update from float32 to bytes,
                 the aggregator's sum from bytes to bytes, the mean as float32; where the time goes; bytes
    throughput   the same as values a second, beside NumPy's weighted mean of the same arrays
    large        109,482,240 values (BERT) block by block, beside sending one upload at 1 Gbit/s
    rounds       3 to 200 parties: time by role, the aggregator's memory, the committee's steps

Every result is checked before it is timed: the decoded mean is within the stated bound of the float mean. Medians over
turns, a ratio compares times of one turn. On one core processor time, on two wall time. Sealing, sending and the ledger
are in none of the figures; the committee's steps have their signatures.
"""

from __future__ import annotations

import argparse
from typing import Any

from lattice.aggregation import BITS, measure_aggregation, round_4
from lattice.peers import TENSEAL_SETTING, find_peers
from lattice.scale import SEED, WEIGHTS, draw_update, measure_large, measure_round
from measuring.processor import on_cores
from measuring.record import machine, print_rows, write_results

VALUE_COUNT = 1_663_370
LARGE_VALUE_COUNT = 109_482_240
CORES = (1, 2)
PARTIES = (3, 10, 50, 100, 200)
TURNS = 4


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {name: round_4(value) if isinstance(value, float) else value for name, value in row.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--values", type=int, default=VALUE_COUNT)
    parser.add_argument("--large-values", type=int, default=LARGE_VALUE_COUNT, help="0 leaves the large model out")
    parser.add_argument("--parties", type=int, nargs="*", default=PARTIES)
    parser.add_argument("--engine", default="cpu")
    parser.add_argument("--no-write", action="store_true", help="print only")
    options = parser.parse_args()
    tenseal, peers = find_peers()
    for name, found in peers.items():
        print(f"peer {name}: {found}")
    updates = [draw_update(options.values, SEED + number) for number in range(len(WEIGHTS))]
    found: dict[str, list[dict[str, Any]]] = {"aggregation": [], "throughput": [], "large": [], "rounds": []}
    described: dict[str, Any] = {}
    for core_count in CORES:
        with on_cores(core_count, options.engine) as engine:
            described[f"{core_count} cores" if core_count > 1 else "1 core"] = engine.describe()
            aggregation, throughput = measure_aggregation(updates, core_count, engine, tenseal, options.turns)
            found["aggregation"] += aggregation
            found["throughput"] += throughput
            for party_count in options.parties:
                found["rounds"].append(
                    _rounded(measure_round(party_count, options.values, BITS[0], core_count, engine))
                )
            if options.large_values:
                found["large"].append(_rounded(measure_large(options.large_values, BITS[0], core_count, engine)))
    for name, rows in found.items():
        print(f"\n{name}")
        print_rows([{k: v for k, v in row.items() if not isinstance(v, dict)} for row in rows])
    for row in found["aggregation"]:
        print(f"\n{row['set']} on {row['cores']}: {row['stages_ms']}; masking: {row['mask_operations_ms']}")
    print(machine())
    rows = found.pop("aggregation")
    if not options.no_write:
        print(write_results("lattice", rows, peers=peers, peer_setting=TENSEAL_SETTING, engine=described, **found))


if __name__ == "__main__":
    main()
