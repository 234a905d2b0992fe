"""FedML-HE's Table 6 and the ways to agree on parts of updates, from results/small-updates*.json."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pages.markdown import table_line

Row = Mapping[str, Any]
_WAYS = ("vote", "random_k", "top_k")


def render_table_6(content: Row | None, place: str) -> Iterator[str]:
    """The table, beside the paper's figures of it; nothing is said of what was not measured."""
    yield "## FedML-HE's Table 6: updates smaller than the model\n"
    if content is None:
        yield "Not measured yet.\n"
        return
    versions = ", ".join(f"{name} {version}" for name, version in content["versions"].items())
    yield _prose(
        f"On {place}, {versions}. Three parties of a loop (`hekat.federate`), each with a real model of random",
        "weights, change every value that they train; all roles in one process. Bytes are one party's in one round,",
        "sealed, with all that openers of sums need. Seconds are processor time of the third round, of all parties and",
        "the aggregator. The paper's figures are its own, of one upload under CKKS: of all values, with DoubleSqueeze",
        "of k = 1,000,000 for the ResNet-18, and with LoRA for BERT.",
    )
    yield table_line("model", "what is sent", "values", "up, MB", "down, MB", "CPU s", "the paper's cell")
    yield "|---|---|---|---|---|---|---|"
    for row in content["rows"]:
        sizes = (row["up_bytes"], row["down_bytes"])
        yield table_line(
            f"{row['model']}, {row['values']:,}",
            row["way"],
            f"{row['sent_values']:,}",
            *(f"{size / 1e6:.3g}" for size in sizes),
            f"{row['round_cpu_s']:.3g}",
            row["paper"],
        )
    yield ""


def render_agreement(content: Row | None, place: str) -> Iterator[str]:
    """Test losses by share and by way, a table for each data set."""
    yield "## Parts of updates: how parties agree on them\n"
    if content is None:
        yield "Not measured yet.\n"
        return
    rows = content["rows"]
    some = rows[0]
    yield _prose(
        f"On {place}. {some['parties']} parties of unlike rows (each label's rows are dealt by a Dirichlet draw",
        f"of 0.5), {some['rounds']} rounds of ten batches, protection lattice; mean loss of the test rows over",
        f"{some['seeds']} seed{'s' if some['seeds'] > 1 else ''}, in brackets accuracy. Bytes up are one party's in",
        "a round, votes included.",
    )
    for data in dict.fromkeys(row["data"] for row in rows):
        of_data = [row for row in rows if row["data"] == data]
        yield f"{data}, a network of {of_data[0]['values']:,} values:\n"
        yield table_line("share sent", *_WAYS, "bytes up, by vote", "by random_k")
        yield "|---" * (len(_WAYS) + 3) + "|"
        for share in sorted({row["keep"] for row in of_data}, reverse=True):
            yield _shares_line(share, [row for row in of_data if row["keep"] == share])
        if data != rows[-1]["data"]:
            yield ""


def _shares_line(share: float, rows: Sequence[Row]) -> str:
    found = {row["way"]: row for row in rows}
    ways = [found.get(way, found.get("all")) for way in _WAYS]
    scores = [f"{row['loss']:.3f} ({100 * row['accuracy']:.1f}%)" if row else "" for row in ways]
    sizes = [f"{row['up_bytes'] / 1e3:,.1f} kB" if row else "" for row in ways[:2]]
    return table_line(f"{share:g}", *scores, *sizes)


def _prose(*lines: str) -> str:
    return textwrap.fill(" ".join(lines), 118, break_on_hyphens=False, break_long_words=False) + "\n"
