"""The reference of environment variables: what each sets, and that the list is the one the code reads."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "hekat"
VARIABLES = {
    "HEKAT_ENGINE": (
        "`cpu`, `reference`, `cuda:0`, ... ; several joined by a plus, such as `cpu+cuda:0`; `cuda:all`",
        "`cpu`",
        "the engine that computes; several work as one. Never silently another than the one named.",
    ),
    "HEKAT_THREADS": ("threads, 1 or more", "all processors", "threads of the native engine"),
    "HEKAT_CPU": ("`portable`, `x86`, `ifma`", "the fastest one there is", "the path of the native engine"),
    "HEKAT_TABLE_MIB": ("MiB", "512", "memory of an engine's tables, scratch and unused results"),
    "HEKAT_SINGLE_TENANT": (
        "`1` or `0`",
        "as the site file says",
        "nobody else's code runs on this machine: faster encryption. Where that is not true it risks the private key "
        "([why](../../SECURITY.md#side-channels)). It goes before the site file.",
    ),
    "HEKAT_SCHEDULE": ("`least_loaded`, `round_robin`", "`least_loaded`", "how several engines share work"),
    "HEKAT_CUDA_MIB": ("MiB", "90 % of what is free when it is first used", "memory taken on each GPU"),
    "HEKAT_CUDA_TABLE_MIB": ("MiB", "a quarter of the GPU's", "of this, tables of encryption randomness"),
    "HEKAT_CACHE": ("a folder", "`$XDG_CACHE_HOME/hekat`, else `~/.cache/hekat`", "compiled GPU kernels"),
    "HEKAT_NVFLARE": (
        "a file, or a folder with a file for each site",
        "`local/hekat.toml` of the start-up kit",
        "where a site of NVIDIA FLARE has its Hekat files ([how](../how_to/nvflare.md))",
    ),
    "HEKAT_FLOWER": (
        "a folder",
        "`job=` and `site=` of `Protected`",
        "where a Flower server has job.toml and site.toml of the aggregator ([how](../how_to/flower.md))",
    ),
    "HEKAT_PARTY_SOCKET": (
        "a path",
        "`hekat-socket` of the SuperNode's `--node-config`",
        "where this site's `hekat party` listens ([how](../how_to/flower.md))",
    ),
    "HEKAT_DEBUG": (
        "`1`",
        "not set",
        "a defect ends a command with a traceback, which may hold values: look through it before you send it",
    ),
    "CUDA_VISIBLE_DEVICES": ("numbers of GPUs", "all", "CUDA's own: which GPUs Hekat can see"),
    "XDG_CACHE_HOME": ("a folder", "`~/.cache`", "where `HEKAT_CACHE` is not set"),
}
_HEAD = """# Environment variables

Hekat reads these when it first needs them, and no others. `hekat doctor` shows which are set. A value that is not
allowed is an error with its cure, never ignored.

| variable | value | where it is not set | sets |
|---|---|---|---|
"""


def render_environment() -> str:
    """docs/reference/environment.md."""
    rows = "\n".join(f"| `{name}` | {' | '.join(cells)} |" for name, cells in VARIABLES.items())
    return f"{_HEAD}{rows}\n"


def variables_read() -> set[str]:
    """What the code takes from the environment: names in capitals that stand beside a look-up there."""
    return {name for path in SOURCE.rglob("*.py") for name in _read_in(path.read_text(encoding="utf-8"))}


def _read_in(code: str) -> Iterator[str]:
    if "HEKAT_" not in code and "environ" not in code:
        return
    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if re.fullmatch(r"HEKAT_[A-Z_]+|CUDA_VISIBLE_DEVICES|XDG_\w+", node.value):
            yield node.value
    yield from re.findall(r"environ(?:\.get\(|\[)\s*\"([A-Z_]+)\"", code)
