"""Puts the figures of benchmarks/results into the README, between its two markers; nothing is typed by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
BEGIN = "<!-- measured: written by benchmarks/write_readme_table.py -->"
END = "<!-- /measured -->"
README = ROOT / "README.md"


def render() -> str:
    """The section, from the results that are there."""
    rows = [row for name, describe in _DESCRIBE.items() for row in _describe(name, describe)]
    lines = [
        "## Measured",
        "",
        "From `benchmarks/results/`, where `make bench` leaves every figure with machine and versions.",
        "",
    ]
    lines += ["| what | figure | on |", "|---|---|---|"]
    lines += [f"| {what} | {figure} | {place} |" for what, figure, place in rows]
    return "\n".join(lines) + "\n"


def _describe(name: str, describe: Any) -> list[tuple[str, str, str]]:
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return []
    content = json.loads(path.read_text(encoding="utf-8"))
    machine = content["machine"]
    place = f"{machine['cpu']}, {machine['cores']} cores, {content['date'][:10]}"
    return [(what, figure, place) for what, figure in describe(content["rows"])]


def _describe_aggregation(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    row = rows[0]
    return [
        (f"{row['what']}", f"{row['party_s']:.2f} s, {row['upload_bytes'] / 1000:.0f} kB up"),
        (f"the same by {row['peer']}", f"{row['peer_party_s']:.0f} s, {row['peer_upload_bytes'] / 1e6:.1f} MB up"),
        ("so: less time, fewer bytes", f"{row['time_ratio']:.0f} times, {row['bytes_ratio']:.0f} times"),
    ]


def _describe_demo(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    row = rows[0]
    key_s, plain_s = row["key_s"], row["plain_s"]
    return [
        (
            f"{row['what']}, all roles on one machine",
            f"{row['encrypted_s'] - key_s:.1f} s and {key_s:.1f} s for the key; plain {plain_s:.1f} s",
        ),
        ("its sealed update against float32", f"{row['update_sealed_bytes']} bytes, {row['bytes_ratio']:.1f} times"),
        ("its final log-loss, encrypted minus plain", f"{row['metric_difference']['log_loss']:.1g}"),
    ]


def _describe_paillier(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    wanted = ("encrypt crt", "encrypt djn", "decrypt", "add")
    return [
        (f"Paillier, {row['key_bits']}-bit key, one core: {row['operation']}", _against_gmpy2(row))
        for row in rows
        if row["operation"] in wanted and row["path"] == "fastest" and row["key_bits"] == 3072
    ]


def _against_gmpy2(row: dict[str, Any]) -> str:
    return f"{row['us']:.0f} us; gmpy2 {row['gmpy2_us']:.0f} us, {row['times_gmpy2']:.1f} times ours"


_DESCRIBE = {"aggregation": _describe_aggregation, "paillier-cpu": _describe_paillier, "demo": _describe_demo}


def main() -> None:
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    README.write_text(f"{before}{BEGIN}\n{render()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
