"""Writes the pages of docs/measured that show benchmarks/results, and the README's short table; nothing by hand."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pages.attacks import NAME as ATTACKS_NAME
from pages.attacks import render_attacks
from pages.first_day import NAMES as FIRST_DAY_NAMES
from pages.first_day import render_first_day
from pages.flash import NAMES as FLASH_NAMES
from pages.flash import render_flash
from pages.gpu import render_gpu
from pages.lattice import render_lattice
from pages.network import IMAGE, PARTS, render_network
from pages.networks import NAMES as NETWORKS_NAMES
from pages.networks import render_networks
from pages.privacy import NAMES as PRIVACY_NAMES
from pages.privacy import render_privacy
from pages.summary import summary_rows
from pages.trees import IMAGE as TREES_IMAGE
from pages.trees import NAMES as TREES_NAMES
from pages.trees import render_trees
from pages.vertical import render_intersection, render_vertical

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
PAGES = ROOT / "docs" / "measured"
BEGIN = "<!-- measured: written by benchmarks/write_measured_pages.py -->"
END = "<!-- /measured -->"
# The short table stands in both, each with its own way to the pages.
SHORT = {ROOT / "README.md": "docs/measured/", PAGES / "index.md": ""}
PERFORMANCE = {"paillier-cpu": "Paillier", "rsa-cpu": "RSA"}
PEERS = {"gmpy2": "gmpy2, textbook", "tables": "gmpy2 with tables in Python"}
_WRITTEN = """Written by `benchmarks/write_measured_pages.py` from `benchmarks/results/`, where every figure has its
machine, versions and date. [How to measure anew](index.md#measure-it-yourself)."""


def render_pages() -> dict[str, str]:
    """Every page by its file's name, from the results that are there."""
    pages = {
        "operations.md": ("Single operations", _operations()),
        "lattice.md": ("Masked aggregation", _section("lattice", render_lattice)),
        "set_intersection.md": ("Set intersection", _section("psi", render_intersection)),
        "vertical.md": ("Vertical regression", _section("vertical", render_vertical)),
        "trees.md": ("Boosted trees", render_trees({name: _read(name) for name in TREES_NAMES}, _place)),
        "networks.md": (
            "Networks and encrypted models",
            render_networks({name: _read(name) for name in NETWORKS_NAMES}, _place),
        ),
        "flash.md": ("FLASH's nine applications", _flash()),
        "attacks.md": ("Attacks on masked updates", _attacks()),
        "privacy.md": (
            "What a model tells",
            render_privacy({name: _read(name) for name in PRIVACY_NAMES}, _read(ATTACKS_NAME), _place),
        ),
        "network.md": ("Between processes and engines", _network()),
        "first_day.md": ("The first day", render_first_day({name: _read(name) for name in FIRST_DAY_NAMES}, _place)),
        "gpu.md": ("On a GPU", _gpus()),
    }
    return {
        name: "\n".join([f"# {title}, measured", "", _WRITTEN, "", *lines]).rstrip() + "\n"
        for name, (title, lines) in pages.items()
    }


def render_short(folder: str) -> str:
    """The README's table: some operations beside what does the same elsewhere; `folder` leads to the pages."""
    rows = summary_rows({name: _read(name) for name in SUMMARY_RESULTS})
    lines = [_line(["what", "Hekat", "beside it", "its figure", "ratio"]), "|---|---|---|---|---|"]
    lines += [_line([f"[{what}]({folder}{page})", *cells]) for what, page, *cells in rows]
    return "\n".join(lines)


SUMMARY_RESULTS = (
    "paillier-cpu", "cuda-nvidia-h200", "lattice", "fedml_he", "psi", "vertical", "trees", "networks",
    "training-mlp", "privacy", "noise",
)  # fmt: skip


def _operations() -> list[str]:
    rows = [row for name, describe in _DESCRIBE.items() for row in _describe(name, describe)]
    lines = [*_performance(), "## An aggregation under Paillier, and the demo", "", _line(["what", "figure", "on"])]
    return [*lines, "|---|---|---|", *(_line([what, figure, place]) for what, figure, place in rows)]


def _performance() -> list[str]:
    """One core beside gmpy2: the rows that comparison.beside_peers made, of every file in PERFORMANCE."""
    lines = []
    for name, scheme in PERFORMANCE.items():
        content = _read(name)
        if content is None:
            continue
        peers = [peer for peer in PEERS if any(f"{peer}_per_s" in row for row in content["rows"])]
        head = ["operation", "key bits", "Hekat", *(cell for peer in peers for cell in (PEERS[peer], "ratio"))]
        lines += [f"## {scheme}", "", _machine_line(content, scheme)]
        lines += [*([_PEERS_LINE] if "tables" in peers else []), *_tables_line(content)]
        lines += ["", _line([*head, "of the limit"]), "|---" * (len(head) + 1) + "|"]
        lines += [_performance_line(row, peers) for row in content["rows"]] + [""]
    return lines


def _section(name: str, render_section: Callable[[dict[str, Any], str], list[str]]) -> list[str]:
    content = _read(name)
    return [] if content is None else render_section(content, _place(content))


def _network() -> list[str]:
    return render_network({part: _read(f"network-{part}") for part in PARTS}, _place)


def _flash() -> list[str]:
    results = {name: _read(name) for name in FLASH_NAMES}
    return render_flash(results, {name: _place(content) for name, content in results.items() if content is not None})


def _attacks() -> list[str]:
    content = _read(ATTACKS_NAME)
    return render_attacks(content, "" if content is None else _place(content))


def _gpus() -> list[str]:
    """Each card that was measured."""
    return [line for path in sorted(RESULTS.glob("cuda-*.json")) for line in _section(path.stem, render_gpu)]


def _draw() -> None:
    """The plots of links and of where a tree's time goes, where these were measured."""
    links, trees = _read("network-links"), _read("trees")
    if links is not None:
        from network.plots import plot_links

        plot_links(links, PAGES / "images" / IMAGE)
    if trees is not None:
        from trees.plots import plot_parts

        plot_parts(trees, PAGES / "images" / TREES_IMAGE)


def _machine_line(content: dict[str, Any], scheme: str) -> str:
    machine = content["machine"]
    return (
        f"{scheme} on one core of {_place(content)}, path `{content['engine']['arithmetic'].split(':')[0]}`, results a "
        f"second, beside gmpy2 {machine['gmpy2']}; the limit is the processor's rate of 52-bit multiply-adds. A ratio "
        "is Hekat's rate over that of the column before it, measured in turns."
    )


_PEERS_LINE = (
    f'"{PEERS["gmpy2"]}" takes a full power r^n for every ciphertext and decrypts modulo p^2 and q^2. '
    f'"{PEERS["tables"]}" encrypts as Hekat does, from tables of the window that is fastest for it. '
    "Neither is constant time."
)


def _tables_line(content: dict[str, Any]) -> list[str]:
    """What the tables of encryption take, in one sentence; nothing where no row has any."""
    parts = [
        f"{row['operation'].removeprefix('encrypt ')} at {row['key_bits']} bits, {row['setting']}: "
        f"{row['table_mib']:g} MiB in {row['table_made_s']:.2g} s"
        for row in content["rows"]
        if "table_mib" in row
    ]
    return [f"Hekat's tables and the time to make them, once for a key: {'; '.join(parts)}."] if parts else []


def _performance_line(row: dict[str, Any], peers: list[str]) -> str:
    name = f"{row['operation']}, {row['setting']}" if row.get("setting") else row["operation"]
    limit = "" if row.get("of_limit") is None else f"{100 * row['of_limit']:.0f}%"
    cells = [name, str(row["key_bits"]), _amount(row["per_s"])]
    for peer in peers:
        measured = f"{peer}_per_s" in row
        cells += [_amount(row[f"{peer}_per_s"]), f"{row[f'times_{peer}']:.1f}"] if measured else ["", ""]
    return _line([*cells, limit])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _amount(per_s: float) -> str:
    return f"{per_s:,.0f}" if per_s >= 100 else f"{per_s:.3g}"


def _read(name: str) -> dict[str, Any] | None:
    path = RESULTS / f"{name}.json"
    content: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    return content


def _place(content: dict[str, Any]) -> str:
    machine = content["machine"]
    return f"{machine['cpu']}, {machine['cores']} cores, {content['date'][:10]}"


def _describe(name: str, describe: Any) -> list[tuple[str, str, str]]:
    content = _read(name)
    if content is None:
        return []
    return [(what, figure, _place(content)) for what, figure in describe(content["rows"])]


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
            f"{row['encrypted_s'] - key_s:.1f} s{f' and {key_s:.1f} s for the key' if key_s else ''}; "
            f"without encryption (sealed float64) {plain_s:.1f} s",
        ),
        ("its sealed update against float32", f"{row['update_sealed_bytes']} bytes, {row['bytes_ratio']:.1f} times"),
        ("its final log-loss, encrypted minus plain", f"{row['metric_difference']['log_loss']:.1g}"),
    ]


_DESCRIBE = {"aggregation": _describe_aggregation, "demo": _describe_demo}


def replace_short(text: str, table: str) -> str:
    """`text` with the table between its markers. Raises ValueError where these are not there."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def main() -> None:
    for name, page in render_pages().items():
        (PAGES / name).write_text(page, encoding="utf-8")
    _draw()
    for path, folder in SHORT.items():
        path.write_text(replace_short(path.read_text(encoding="utf-8"), render_short(folder)), encoding="utf-8")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
