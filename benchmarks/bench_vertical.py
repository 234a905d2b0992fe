"""Vertical logistic regression, whole runs with all parties on this machine: all forms, beside gmpy2, by step.

    training   one epoch of 30,000 rows, 13 columns and labels at the guest, 10 at the host, batches of 1024
    flash      the steps of FLASH's Table 1, encrypted and in the clear (protection none: the same messages, sealed)
    peers      form arbiter with one ciphertext a value through gmpy2 and by phe, on a sample, scaled up by rows
    auc        on UCI's credit data (--credit FOLDER), beside scikit-learn on the joined table
    elsewhere  100,000 rows: 80 + 1 columns as FLASH has, all rows in one batch as FATE does; and 330 columns

A run is everything from opening sealed channels to the parts of the model: keys are there before and are timed apart,
tables of randomisers are not and are made in it. Results are checked first: each run's weights equal those from
centralised training in float64 up to fixed point, a peer's gradient is the plain one. Roles compute one after the
other, each on all cores; figures are medians over turns in which clear and encrypted runs alternate.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from hekat.engine.select import get_engine
from hekat.protocol.vertical_linear.settings import COLUMN_LEAK_ACCEPTED, LEAK_ACCEPTED, VerticalLinearSettings
from hekat.protocol.vertical_linear.training_settings import LinearTraining
from hekat.scheme.paillier import generate_keys
from measuring.record import machine, print_rows, write_results
from vertical.data import ARBITER, GUEST, HOST, JoinedColumns, draw_columns, read_credit
from vertical.peers import measure_peers, set_beside
from vertical.run import TrainedModel, centralised_weights, joined_weights, score, train
from vertical.tables import ELSEWHERE, FLASH_TIMES_IN_ALL, flash_table, seconds_by_part

SEED = 7
FORMS = ("shared_weights", "arbiter")
TO_REACH_S = {("shared_weights", 2048): 8.0, ("arbiter", 2048): 4.0}
TO_REACH_TIMES_PEER, TO_REACH_TIMES_CLEAR, TO_REACH_AUC = 30.0, 5.0, 0.005
BATCH_ROWS = 1024
AUC_TRAINING: dict[str, Any] = {"epochs": 10, "optimiser": "momentum", "learning_rate": 0.02, "l2": 1e-4}
LIMIT_SPREADS = 3.0
# Weights are sums of steps: each is within the fixed point's bound of the exact one, far below this after 30 of them.
WEIGHT_TOLERANCE = 1e-4


def make_settings(
    form: str, key_bits: int = 2048, protection: str = "paillier", *, waived: bool = False, **training: Any
) -> VerticalLinearSettings:
    """Logistic regression of two parties. `key_bits` is of Paillier keys; `waived`: shapes that the rules on gradients
    refuse in form `arbiter` are accepted."""
    waived = waived and form == "arbiter"
    return VerticalLinearSettings(
        guest=GUEST,
        hosts=(HOST,),
        form=form,  # type: ignore[arg-type]
        arbiter=ARBITER if form == "arbiter" else None,
        classes=("0", "1"),
        key_bits=key_bits,
        protection=protection,  # type: ignore[arg-type]
        training=LinearTraining(**{"epochs": 1, "batch_rows": BATCH_ROWS, **training}),
        label_leak_accepted=LEAK_ACCEPTED if waived else None,
        column_leak_accepted=COLUMN_LEAK_ACCEPTED if waived else None,
    )


def measure_training(
    data: JoinedColumns, settings: VerticalLinearSettings, turns: int, warm_ups: int = 1
) -> dict[str, Any]:
    """The row of one form, protection and key size, in which clear and encrypted runs alternate."""
    form, name = str(settings.form), _name(settings)
    in_the_clear = replace(settings, protection="none")
    exact = centralised_weights(data.tables(), settings)
    runs: list[tuple[TrainedModel, TrainedModel]] = []
    for turn in range(warm_ups + turns):
        pair = train(in_the_clear, data.tables()), train(settings, data.tables())
        error = max(float(np.abs(joined_weights(one.parts) - exact).max()) for one in pair)
        if error > WEIGHT_TOLERANCE:
            raise SystemExit(f"{name}: weights are {error:.2g} from centralised ones")
        if turn >= warm_ups:
            runs.append(pair)
        print(f"{name}: {pair[1].seconds:.2f} s, in the clear {pair[0].seconds:.2f} s", flush=True)
    clear, encrypted = (_median_of([pair[index] for pair in runs]) for index in (0, 1))
    return {
        "what": data.what,
        "form": form,
        "protection": settings.protection,
        "key_bits": settings.key_bits if settings.protection == "paillier" else None,
        "batch_rows": settings.training.batch_rows,
        "rules_waived": settings.column_leak_accepted is not None,
        "seconds": encrypted["seconds"],
        "processor_s": encrypted["processor_s"],
        "parts_s": seconds_by_part(encrypted["steps"], encrypted["seconds"]),
        "clear_s": clear["seconds"],
        "clear_processor_s": clear["processor_s"],
        "times_clear": statistics.median(pair[1].seconds / pair[0].seconds for pair in runs),
        "sent_bytes": runs[-1][1].sent_bytes,
        "largest_weight_error": error,
        "loss": runs[-1][1].losses[-1],
        "turns": turns,
        **({"flash": flash_table(clear["steps"], encrypted["steps"])} if form == "arbiter" else {}),
    }


def _median_of(runs: list[TrainedModel]) -> dict[str, Any]:
    names = sorted({name for run in runs for name in run.steps})
    return {
        "seconds": statistics.median(run.seconds for run in runs),
        "processor_s": statistics.median(run.processor_s for run in runs),
        "steps": {name: statistics.median(run.step_s(name) for run in runs) for name in names},
    }


def measure_auc(data: JoinedColumns, train_rows: Any, test_rows: Any, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """AUC on the test rows of both forms' joint prediction, without a limit and with one, and of the same objective in
    one place; differences are to scikit-learn's on the joined table as it is, whose AUC under that limit is beside."""
    joined = StandardScaler().fit(data.joined[train_rows]).transform(data.joined)
    truth, tables, tests = data.labels[test_rows], data.tables(train_rows), data.tables(test_rows)
    rows: list[dict[str, Any]] = []
    for limit in (0.0, LIMIT_SPREADS):
        what = f"{data.what}, limit_spreads = {limit:g}" if limit else data.what
        columns = np.clip(joined, -limit, limit) if limit else joined
        peer = LogisticRegression(max_iter=1000).fit(columns[train_rows], data.labels[train_rows])
        auc = float(roc_auc_score(truth, peer.decision_function(columns[test_rows])))
        as_it_is = rows[0]["auc"] if rows else auc
        rows.append({"what": what, "trained": "scikit-learn, joined", "auc": auc, "difference": auc - as_it_is})
        limited = {**settings, "limit_spreads": limit}
        weights = centralised_weights(tables, make_settings("arbiter", **limited))
        central = float(roc_auc_score(truth, columns[test_rows] @ weights[:-1]))
        trained_so = "the same objective, joined"
        rows.append({"what": what, "trained": trained_so, "auc": central, "difference": central - as_it_is})
        for form, protection in (*((form, "paillier") for form in FORMS), ("arbiter", "lattice")):
            # Bills and payments have tails by which single rows could be read: without a limit the rules refuse them.
            job = make_settings(form, protection=protection, waived=not limit, **limited)
            trained = train(job, tables)
            ours = float(roc_auc_score(truth, score(job, trained.parts, tests)[:, 0]))
            reached = {"to_reach": TO_REACH_AUC, "reached": abs(ours - as_it_is) <= TO_REACH_AUC}
            seconds = {"seconds": trained.seconds, "losses": trained.losses}
            found = {"auc": ours, "difference": ours - as_it_is}
            name = f"{form}, {protection}"
            rules = {"rules_waived": job.column_leak_accepted is not None}
            rows.append({"what": what, "trained": name, **found, **reached, **seconds, **rules})
            print(f"AUC, {name}: {ours:.4f}, {ours - as_it_is:+.4f}, in {trained.seconds:.1f} s", flush=True)
    return rows


def _name(settings: VerticalLinearSettings) -> str:
    keys = f"{settings.key_bits} bits" if settings.protection == "paillier" else settings.protection
    return f"{settings.form}, {keys}"


def measure_elsewhere(key_bits: int, protection: str, shape: Mapping[str, Any], share: float) -> dict[str, Any]:
    """One epoch of form arbiter at a shape whose seconds are known elsewhere, or of a share of its rows."""
    row_count = round(shape["rows"] * share)
    data = draw_columns(row_count, shape["guest_columns"], shape["host_columns"], SEED)
    waived = bool(shape.get("rules_waived"))
    settings = make_settings("arbiter", key_bits, protection, waived=waived, batch_rows=shape["batch_rows"])
    row = measure_training(data, settings, turns=1, warm_ups=0)
    return {**row, "elsewhere": dict(shape), "scaled_s": row["seconds"] / share, "share": share}


def time_keys(bits: int) -> float:
    """Seconds that one new key pair takes, by chance more or less."""
    start = time.perf_counter()
    generate_keys(bits)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--credit", type=Path, help="folder with UCI's credit files; without it no AUC")
    parser.add_argument("--key-bits", type=int, nargs="+", default=[2048, 3072])
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--peer-rows", type=int, default=96, help="rows of a batch that gmpy2 works through")
    parser.add_argument("--share", type=float, default=1.0, help="of the rows of shapes known elsewhere; 0: none")
    parser.add_argument("--no-write", action="store_true", help="print only")
    options = parser.parse_args()
    auc: list[dict[str, Any]] = []
    credit = None if options.credit is None else read_credit(options.credit)
    data = draw_columns(options.rows, 13, 10, SEED)
    print(data.what, machine(), get_engine().describe(), sep="\n")
    loads = [os.getloadavg()[0]]
    if credit is not None:
        auc = measure_auc(*credit, {"key_bits": options.key_bits[0], **AUC_TRAINING})
    keys = {str(bits): time_keys(bits) for bits in options.key_bits}
    peers = [row for bits in options.key_bits for row in measure_peers(data, bits, options.peer_rows, BATCH_ROWS)]
    elsewhere = [
        measure_elsewhere(options.key_bits[0], protection, shape, options.share)
        for shape in ELSEWHERE
        for protection in ("lattice", "paillier")
        if options.share
    ]
    kinds = [make_settings("arbiter", protection="lattice")]
    kinds += [make_settings(form, key_bits) for key_bits in options.key_bits for form in FORMS]
    rows = []
    for settings in kinds:
        row = measure_training(data, settings, options.turns)
        if (to_reach := TO_REACH_S.get((row["form"], row["key_bits"]))) is not None:
            row |= {"to_reach_s": to_reach, "reached": row["seconds"] <= to_reach}
        if row["form"] == "arbiter":
            row["times_clear_reached"] = row["times_clear"] <= TO_REACH_TIMES_CLEAR
        rows.append(row)
    set_beside(peers, rows, TO_REACH_TIMES_PEER)
    loads.append(os.getloadavg()[0])
    print_all(rows, peers, elsewhere, auc)
    if not options.no_write:
        print(
            write_results(
                "vertical",
                rows,
                data=data.what,
                batch_rows=BATCH_ROWS,
                key_generation_s=keys,
                load_before_and_after=loads,
                engine=get_engine().describe(),
                flash_times_in_all=FLASH_TIMES_IN_ALL,
                times_clear_to_reach=TO_REACH_TIMES_CLEAR,
                peers=peers,
                elsewhere=elsewhere,
                auc=auc,
                auc_rows=None if credit is None else {"train": len(credit[1]), "test": len(credit[2])},
                auc_training=AUC_TRAINING,
            )
        )


def print_all(rows: list[Any], peers: list[Any], elsewhere: list[Any], auc: list[Any]) -> None:
    """Every table, on standard output."""
    print("\none epoch, seconds")
    print_rows([{**_scalars(row), **row["parts_s"]} for row in [*rows, *elsewhere]])
    for row in [*rows, *elsewhere]:
        if "flash" in row:
            print(f"\nsteps of form arbiter, {row['protection']}, {row['what']}")
            print_rows(row["flash"])
    for name, found in (("beside", peers), ("AUC", auc)):
        print(f"\n{name}")
        print_rows([_scalars(row) for row in found], list(_scalars(found[-1])) if found else None)


def _scalars(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if not isinstance(value, dict | list)}


if __name__ == "__main__":
    main()
