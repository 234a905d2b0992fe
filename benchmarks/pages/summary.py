"""The README's short table: one row a subject, Hekat's figure, what does the same elsewhere, and the ratio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Results = Mapping[str, Mapping[str, Any] | None]
MOST_TIMES_PLAIN = 1.10


def summary_rows(results: Results) -> list[tuple[str, str, str, str, str, str]]:
    """What, the page of docs/measured that has it, Hekat's figure, the peer, its figure, the ratio."""
    makers = (
        _encrypt, _on_a_gpu, _aggregation, _large_model, _intersection, _vertical, _trees, _split_network,
        _encrypted_model, _training, _private, _noise,
    )  # fmt: skip
    return [made for make in makers if (made := make(results)) is not None]


def _encrypt(results: Results) -> tuple[str, str, str, str, str, str] | None:
    row = _row(results["paillier-cpu"], operation="encrypt crt", key_bits=2048, setting="constant time")
    return row and (
        "Paillier, 2048 bits: encrypt, one core, constant time",
        "operations.md",
        f"{row['per_s']:,.0f} /s",
        "gmpy2 textbook; with tables",
        f"{row['gmpy2_per_s']:,.0f} /s; {row['tables_per_s']:,.0f} /s",
        f"{row['times_gmpy2']:.0f}; {row['times_tables']:.0f}",
    )


def _on_a_gpu(results: Results) -> tuple[str, str, str, str, str, str] | None:
    content = results["cuda-nvidia-h200"]
    row = _row(content, operation="decrypt", key_bits=2048)
    if row is None or content is None:
        return None
    return (
        f"Paillier, 2048 bits: decrypt on one {content['engine']['device']}",
        "gpu.md",
        f"{row['per_s']:,.0f} /s",
        f"Hekat on the {content['machine']['cores']} cores of its host",
        f"{row['cpu_per_s']:,.0f} /s",
        f"{row['times_cpu']:.0f}",
    )


def _aggregation(results: Results) -> tuple[str, str, str, str, str, str] | None:
    row = _row(results["lattice"], bits=16, cores=1)
    return row and (
        f"masked sum of {row['values']:,} float32, {row['parties']} parties, one core",
        "lattice.md",
        f"{1e3 * row['total_s']:.0f} ms, {row['upload_bytes'] / 1e6:.1f} MB up",
        "TenSEAL (CKKS)",
        f"{1e3 * row['tenseal_total_s']:,.0f} ms, {row['tenseal_upload_bytes'] / 1e6:.1f} MB up",
        f"{row['times_tenseal']:.0f}; {row['times_fewer_bytes']:.0f} in bytes",
    )


def _large_model(results: Results) -> tuple[str, str, str, str, str, str] | None:
    ours = _row(results["fedml_he"], model="BERT", scheme="lattice")
    peer = _row(results["fedml_he"], model="BERT", scheme="ckks")
    return (
        ours
        and peer
        and (
            f"FedML-HE's BERT: {ours['values']:,} values, {ours['clients']} clients, one core",
            "training.md",
            f"{ours['total_s']:.2f} s, {ours['upload_bytes'] / 1e6:,.0f} MB up",
            "CKKS (SEAL), the paper's setting",
            f"{peer['total_s']:.0f} s, {peer['upload_bytes'] / 1e6:,.0f} MB up",
            f"{peer['total_s'] / ours['total_s']:.0f}; {peer['upload_bytes'] / ours['upload_bytes']:.0f} in bytes",
        )
    )


def _intersection(results: Results) -> tuple[str, str, str, str, str, str] | None:
    row = _row(results["psi"], work="ecdh 100,000 x 100,000", cores=1)
    return row and (
        "which of 100,000 ids on each side are common, one core",
        "set_intersection.md",
        f"{row['processor_s']:.1f} s",
        row["other"],
        f"{row['other_s']:.1f} s",
        f"{row['times_other']:.1f}",
    )


def _vertical(results: Results) -> tuple[str, str, str, str, str, str] | None:
    content = results["vertical"]
    row = _row(content, form="arbiter", protection="paillier", key_bits=2048)
    if row is None or content is None:
        return None
    peer = next(one for one in content["peers"] if one["peer"] == "gmpy2, djn" and one["key_bits"] == 2048)
    return (
        "logistic regression by columns, 30,000 x 23, an epoch, Paillier 2048 bits, arbiter",
        "vertical.md",
        f"{row['seconds']:.2f} s",
        "gmpy2, a value at a time, one process",
        f"{peer['scaled_s']:.0f} s",
        f"{peer['times_ours']:.0f}",
    )


def _trees(results: Results) -> tuple[str, str, str, str, str, str] | None:
    row = _row(results["trees"], part="tree", columns=[13, 23], bins=32, protection="lattice", hide_partition=False)
    return row and (
        f"boosted trees by columns, {row['what']}, {row['bins']} bins, a tree, masked",
        "trees.md",
        f"{row['tree_s']:.2f} s, {row['mb']:.0f} MB",
        "the same in the clear; LightGBM, one table",
        f"{row['clear_s']:.2f} s; {row['lightgbm_s']:.3f} s",
        f"{row['times_clear']:.1f} times the clear; aim: {row['to_reach']['times_clear']:g}",
    )


def _split_network(results: Results) -> tuple[str, str, str, str, str, str] | None:
    row = _row(results["networks"], part="split_network", host_bottom="frozen")
    return row and (
        f"{row['what'].replace('split network', 'network split by columns')}, an epoch, encrypted",
        "networks.md",
        f"{row['seconds']:.2f} s, {row['mb']:.0f} MB",
        "the same in the clear",
        f"{row['clear_seconds']:.2f} s",
        f"{row['times_clear']:.1f} times the clear; aim: {row['to_reach']['times_clear']:g}",
    )


def _encrypted_model(results: Results) -> tuple[str, str, str, str, str, str] | None:
    row = _row(results["networks"], part="encrypted_model", protection="lattice")
    peer = _row(results["networks"], part="papers_form")
    return (
        row
        and peer
        and (
            f"logistic regression on a model that hosts cannot read, {row['shape']}, an epoch",
            "networks.md",
            f"{row['seconds']:.2f} s, {row['mb']:.1f} MB",
            "the same in the clear; the papers' form in gmpy2",
            f"{row['clear_seconds']:.2f} s; {peer['scaled_s']:.0f} s",
            f"{row['times_clear']:.1f} times the clear; {peer['times_ours']:,.0f}",
        )
    )


def _training(results: Results) -> tuple[str, str, str, str, str, str] | None:
    row = _row(results["training-mlp"], algorithm="fedavg", protection="lattice", value_bits=16)
    return row and (
        "training an MLP on MNIST, nine parties, masked at 16 bits",
        "training.md",
        f"{row['times_plain_by_exchange']:.2f} times the time, {row['accuracy_points']:+.2f} points",
        "the same run without encryption",
        "1",
        f"aim: {MOST_TIMES_PLAIN:.2f} times",
    )


def _private(results: Results) -> tuple[str, str, str, str, str, str] | None:
    row = _row(results["privacy"], data="MNIST", epsilon=3.0)
    return row and (
        f"MNIST, {row['parties']} parties, differential privacy by rows, epsilon 3, regression",
        "privacy.md",
        f"{row['shared']:.1f}% right",
        "central DP-SGD; no noise",
        f"{row['central']:.1f}%; {row['exact']:.1f}%",
        f"{row['points']:+.2f} points; aim: -1",
    )


def _noise(results: Results) -> tuple[str, str, str, str, str, str] | None:
    row = _row(results["noise"], path="ifma", what="1,048,576 numbers, s = 1023")
    return row and (
        "exact discrete Gaussian noise, one core",
        "privacy.md",
        f"{row['millions_a_second']:.0f} million /s",
        "NumPy, normal and rounded, not exact",
        f"{row['millions_a_second'] / row['times_numpy']:.0f} million /s",
        f"{row['times_numpy']:.1f}",
    )


def _row(content: Mapping[str, Any] | None, **wanted: Any) -> dict[str, Any] | None:
    rows: Sequence[dict[str, Any]] = [] if content is None else content["rows"]
    found = (row for row in rows if all(row.get(key) == value for key, value in wanted.items()))
    return next(found, None)
