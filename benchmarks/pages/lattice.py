"""The figures of lattice aggregation, from the content of results/lattice.json."""

from __future__ import annotations

from typing import Any

from pages.markdown import table_head, table_line

STAGES = ("quantise", "mask", "add", "write sum", "unmask", "dequantise")
_MEMORY_HEAD = ("sends", "reads", "aggregator")
_COMMITTEE_HEAD = ("members", "deal", "check", "release", "open", "shares")


def render_lattice(content: dict[str, Any], place: str) -> list[str]:
    """The section's lines; `place` names processor, cores and date."""
    return [
        "## One aggregation",
        "",
        _introduction(content, place),
        "",
        *_aggregation(content["rows"]),
        "",
        _STAGES_LINE,
        "",
        *_stages([row for row in content["rows"] if row["cores"] == 1]),
        "",
        _THROUGHPUT_LINE,
        "",
        *_throughput(content["throughput"]),
        "",
        *(_large(content["large"]) if content["large"] else []),
        *_rounds([row for row in content["rounds"] if row["cores"] == 1]),
        "",
    ]


def _introduction(content: dict[str, Any], place: str) -> str:
    row = content["rows"][0]
    paths = sorted({engine["arithmetic"].split(":")[0] for engine in content["engine"].values()})
    missing = [f"{name}, {found}" for name, found in content["peers"].items() if found.startswith("missing")]
    sentences = [
        f"On {place}, path `{'`, `'.join(paths)}`: one aggregation of {row['values']:,} float32 values of "
        f"{row['parties']} parties, the size of FedML-HE's Table 5.",
        "Encrypt and decrypt are one party's, from float32 to bytes and from bytes to the float32 mean; aggregate is "
        "from bytes to bytes.",
    ]
    if _has_peer(row):
        sentences.append(
            f"Beside it in turns: TenSEAL {content['peers']['tenseal']} ({content['peer_setting']}; its values carry "
            "about 30 bits), one party's encrypt and serialise, deserialise and add all, decrypt; the sum's way back "
            "as bytes and conversions of arrays are left out of TenSEAL's time."
        )
    if missing:
        sentences.append(f"Not measured: {'; '.join(missing)}.")
    sentences.append("Shares, sealing, sending and the ledger, whose digests are what a party signs, are in neither.")
    sentences.append("One core is processor time, two are wall time.")
    return " ".join(sentences)


def _aggregation(rows: list[dict[str, Any]]) -> list[str]:
    head = ["bits", "set", "cores", "encrypt", "aggregate", "decrypt", "together", "TenSEAL", "ratio", "upload"]
    table = table_head([*head, "of float32", "TenSEAL's upload"])
    for row in rows:
        peer = (
            (f"{1e3 * row['tenseal_total_s']:,.0f} ms", f"{row['times_tenseal']:.0f}") if _has_peer(row) else ("", "")
        )
        table.append(
            table_line(
                row["bits"],
                row["set"],
                row["cores"],
                *(f"{1e3 * row[name]:.1f} ms" for name in ("encrypt_s", "aggregate_s", "decrypt_s", "total_s")),
                *peer,
                _megabytes(row["upload_bytes"]),
                f"{row['upload_over_float32']:.2f}",
                _megabytes(row["tenseal_upload_bytes"]) if _has_peer(row) else "",
            )
        )
    return table


_STAGES_LINE = (
    "Where that goes, on one core, in nanoseconds a value; the aggregator's columns, add and write, are for all "
    "parties:"
)


def _stages(rows: list[dict[str, Any]]) -> list[str]:
    table = table_head(["bits", *STAGES])
    for row in rows:
        table.append(
            table_line(row["bits"], *(f"{1e6 * row['stages_ms'][stage] / row['values']:.2f}" for stage in STAGES))
        )
    return table


_THROUGHPUT_LINE = (
    "The same as million values a second; mask and unmask are between int32 levels and bytes alone, NumPy's is the "
    "weighted mean of the same three arrays without any protection:"
)


def _throughput(rows: list[dict[str, Any]]) -> list[str]:
    names = ("encrypt_per_s", "decrypt_per_s", "encrypt_levels_per_s", "decrypt_levels_per_s", "numpy_mean_per_s")
    table = table_head(["bits", "cores", "encrypt", "decrypt", "mask", "unmask", "NumPy"])
    return table + [
        table_line(row["bits"], row["cores"], *(f"{row[name] / 1e6:.0f}" for name in names)) for row in rows
    ]


def _large(rows: list[dict[str, Any]]) -> list[str]:
    row = rows[0]
    lines = [
        f"{row['values']:,} values (BERT), {row['bits']} bits, {row['parties']} parties, block by block. Memory is "
        f"what comes to a party's own update of {_megabytes(row['update_bytes'])} while it sends and while it reads "
        "the mean, and what the aggregator takes: its accumulator and the upload that it checks.",
        "",
        *table_head(["cores", "encrypt", "aggregate", "decrypt", "together", "one upload at 1 Gbit/s", *_MEMORY_HEAD]),
    ]
    for row in rows:
        seconds = ("encrypt_s", "aggregate_s", "decrypt_s", "total_s", "upload_at_1_gbit_s")
        memory = ("party_sends_rise_bytes", "party_reads_rise_bytes", "aggregator_rise_bytes")
        lines.append(
            table_line(
                row["cores"], *(f"{row[name]:.2f} s" for name in seconds), *(_megabytes(row[name]) for name in memory)
            )
        )
    return [*lines, ""]


def _rounds(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    lines = [
        f"A round on one core, {rows[0]['values']:,} values of {rows[0]['bits']} bits: a party masks and opens, the "
        "aggregator checks and adds all uploads. Then the committee: a party deals its secret and opens the sum of the "
        "secrets, a member checks what it was dealt and releases, with all signatures; the shares a party sends."
        f"{_shares_of_another_release(rows)}",
        "",
        *table_head(["parties", "set", "a party", "aggregator", "for each party", "its memory", *_COMMITTEE_HEAD]),
    ]
    for row in rows:
        lines.append(
            table_line(
                row["parties"],
                row["set"],
                f"{1e3 * row['party_s']:.0f} ms",
                f"{1e3 * row['aggregator_s']:,.0f} ms",
                f"{1e3 * row['aggregator_s_per_party']:.1f} ms",
                _megabytes(row["aggregator_peak_bytes"]),
                f"{row['threshold']} of {row['members']}",
                *(f"{row[name]:.1f} ms" for name in ("deal_ms", "check_ms", "release_ms", "open_ms")),
                f"{row['share_bytes'] / 1e3:.0f} kB",
            )
        )
    return lines


def _shares_of_another_release(rows: list[dict[str, Any]]) -> str:
    """Shares are bytes that any machine counts alike, so they may be newer than the times."""
    counted = {row["shares_counted_on"] for row in rows if "shares_counted_on" in row}
    if not counted:
        return ""
    return (
        f" Shares are counted on release {', '.join(sorted(counted))}; times to deal, check and release are of the "
        "date above, when a party sent each member a share."
    )


def _has_peer(row: dict[str, Any]) -> bool:
    return "times_tenseal" in row


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
