"""The figures of a GPU, from the content of results/cuda-<gpu>.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pages.markdown import table_line

KERNELS = ("element-wise", "encryption kernels", "powers", "lattice", "products of many", "integers", "in and out")


def render_gpu(content: dict[str, Any], place: str) -> list[str]:
    """One card's sections; `place` names its host's processor, cores and date."""
    rows, card = content["rows"], content["engine"]["device"]
    return [
        f"## {card}",
        "",
        _introduction(content, place),
        "",
        *_targets(rows),
        f"### {card}: data on the GPU",
        "",
        _KERNELS_LINE,
        "",
        *_operations([row for name in KERNELS for row in _of(rows, name)]),
        "",
        f"### {card}: Paillier as called",
        "",
        _CALLS_LINE,
        "",
        *_operations(_of(rows, "as called"), limits=False),
        "",
        f"### {card}: threads and words",
        "",
        "The product mod n^2 with a number in other groups of threads than the engine chooses:",
        "",
        *_operations(_of(rows, "layouts"), host=False),
        "",
        f"### {card}: what the engine chooses",
        "",
        _CHOICES_LINE,
        "",
        *_operations(_of(rows, "choices"), host=False, limits=False),
        "",
        *_papers(rows),
    ]


def _introduction(content: dict[str, Any], place: str) -> str:
    engine, rates = content["engine"], content["ceilings"]
    return (
        f"{engine['device']}, compute capability {engine['compute capability']}, driver {engine['driver']} "
        f"({engine['cuda']}), kernels {engine['kernels']}; beside it all cores of its host: {place}. Measured at most: "
        f"{rates['wide_multiply_adds'] / 1e12:.2f} T multiply-adds of 32-bit words a second, in chains with carries "
        f"{rates['chained_multiply_adds'] / 1e12:.2f} T; {rates['device_bytes'] / 1e12:.2f} TB/s of its memory, "
        f"{rates['to_device_bytes'] / 1e9:.0f} GB/s from the host and {rates['to_host_bytes'] / 1e9:.0f} GB/s to it. "
        "Every result was checked before it was timed; figures are medians, with data from random numbers."
    )


_KERNELS_LINE = (
    "Results a second by the GPU's own clock. Of the ceiling: the operation's multiply-adds by formula, as a part of "
    "the rate above. What has no figure of the host was not measured there. Elements on the host are copied both ways, "
    "which takes longer than the GPU saves."
)
_CALLS_LINE = (
    "Results a second by the caller's clock, plaintexts from the host, ciphertexts on the GPU. The engine was told "
    "that nobody else's code runs on the machine (`single_tenant`), so encryption looks randomness up in plain tables; "
    "where the host has no figure it was measured in constant time and is not compared."
)
_CHOICES_LINE = (
    "Medians of three, taken right after the other figures. The engine now takes windows of 4 bits for powers in "
    "constant time, 5 bits for r^n and for tables that are read whole, 3 chunks of 4 x 4096 at once, and of 16 x 4096 "
    "for decryption. The figures above were taken before: decryption in chunks of 4 x 4096."
)


def _targets(rows: list[dict[str, Any]]) -> list[str]:
    lines = [table_line("operation, 2048-bit key", "aim", "measured", "reached"), "|---|---|---|---|"]
    for row in rows:
        if "to_reach" not in row:
            continue
        aim = row["to_reach"]
        if isinstance(aim, str):
            measured = f"{row['times_slower_of_both']:.1f} times"
        else:
            measured, aim = f"{_amount(row['per_s'])} /s", f"{_amount(aim)} /s"
            if row.get("to_reach_of_ceiling"):
                measured += f", {100 * row['of_ceiling']:.0f}% of the ceiling"
                aim += f", {100 * row['to_reach_of_ceiling']:.0f}% of the ceiling"
        lines.append(table_line(row["operation"], aim, measured, "yes" if row["reached"] else "**missed**"))
    return [*lines, ""]


def _operations(rows: list[dict[str, Any]], *, host: bool = True, limits: bool = True) -> list[str]:
    """Operations a second; with `host` beside its cores, with `limits` as part of the ceiling."""
    head = ["operation", "key bits", "items", "a second"]
    head += ["of the ceiling"] * limits + ["host", "times"] * host
    lines = [table_line(*head), "|---" * len(head) + "|"]
    for row in rows:
        cells = [row["operation"], row["key_bits"] or "", f"{row['items']:,}"]
        cells.append(f"failed: {row['failed']}" if "failed" in row else _amount(row["per_s"]))
        if limits:
            cells.append("" if row.get("of_ceiling") is None else f"{100 * row['of_ceiling']:.0f}%")
        if host:
            beside = "times_cpu" in row
            cells += [_amount(row["cpu_per_s"]), f"{row['times_cpu']:.2g}"] if beside else ["", ""]
        lines.append(table_line(*cells))
    return lines


def _papers(rows: list[dict[str, Any]]) -> list[str]:
    lines: list[str] = []
    haflo = _of(rows, "HAFLO Table 2")
    if haflo:
        lines += ["### Beside HAFLO's Table 2", "", _HAFLO_LINE.format(source=haflo[0]["source"]), ""]
        lines += [table_line("operator", "Hekat", "HAFLO's GPU", "its CPU"), "|---|---|---|---|"]
        for row in haflo:
            published: Mapping[str, float] = row["published"]
            lines.append(table_line(row["operation"], *(_amount(v) for v in (row["per_s"], *published.values()))))
        lines.append("")
    flbooster = [row for row in _of(rows, "FLBooster Table IV") if row.get("published")]
    if flbooster:
        lines += ["### Beside FLBooster's Table IV", "", _FLBOOSTER_LINE.format(source=flbooster[0]["source"]), ""]
        lines += [table_line("key bits", "Hekat, values encrypted", "FLBooster, by model"), "|---|---|---|"]
        for row in flbooster:
            theirs = ", ".join(f"{model} {_amount(found['FLBooster'])}" for model, found in row["published"].items())
            lines.append(table_line(row["key_bits"], _amount(row["per_s"]), theirs))
        lines.append("")
    return lines


_HAFLO_LINE = (
    "{source}. As called, a second; a newer card and other work inside each operator, so no ratio is given; Hekat's "
    "encoding and decoding are the host's. Its `encryption` draws randomness from tables, `as published` takes the "
    "full power r^n."
)
_FLBOOSTER_LINE = "{source}. Hekat's figure is clipping, packing and encrypting values of the host alone."


def _of(rows: list[dict[str, Any]], section: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["section"] == section]


def _amount(value: float) -> str:
    if value >= 1e9:
        return f"{value / 1e9:.3g} G"
    return f"{value / 1e6:.4g} M" if value >= 1e6 else f"{value:,.0f}"
