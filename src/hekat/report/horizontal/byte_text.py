"""What an update weighs on the wire, in a table and in sentences; figures that were calculated say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.report.how_played import is_of_one_role
from hekat.report.number_text import (
    format_byte_count,
    format_count,
    format_number,
    format_share,
    format_times,
    pluralise,
)
from hekat.report.table import Table

_FLOAT32_BITS = 32


def fills_partly(summary: Mapping[str, Any]) -> bool:
    """Whether an update leaves a third or more of its ciphertexts empty."""
    packing = summary["packing"]
    return bool(packing and packing["lanes_per_ciphertext"] * packing["ciphertext_count"] > 1.5 * packing["lane_count"])


def sends_no_update(summary: Mapping[str, Any]) -> bool:
    """Whether the summary is of one role alone, an aggregator or a member that trains nothing."""
    return is_of_one_role(summary) and not summary["bytes"]["update_values"]


def byte_table(summary: Mapping[str, Any]) -> Table:
    """What one update and one sum weigh, beside float32, and how well the packing does."""
    sizes, packing = summary["bytes"], summary["packing"]
    if sends_no_update(summary):
        rows = [("one update", "not known to this role")]
        return Table("Bytes of one update", ("what", "figure"), tuple(rows), "The parties know what they sent.")
    protection = summary["settings"]["protection"]
    form = {"lattice": "masked", "paillier": "encrypted"}.get(protection, "NOT encrypted")
    apart = ", shares apart" if sizes.get("to_openers_sealed") else ""
    rows = [
        ("values in one update", format_count(sizes["update_values"])),
        ("the same as plain float32 numbers", format_byte_count(sizes["float32_per_update"])),
        (f"up, per party and round ({form}, sealed{apart})", format_byte_count(sizes["update_sealed"])),
        (f"down, per party and round ({form}, sealed{apart})", format_byte_count(sizes["sum_sealed"])),
        (f"up, compared with float32{apart}", format_times(sizes["ratio_to_float32"])),
    ]
    if packing is None:
        note = "Nothing was packed, so there is no compression ratio and no plaintext-space use."
    elif protection == "lattice":
        rows += _lattice_rows(summary)
        note = "A chunk is one polynomial; the last one sends only the coefficients that it uses."
    else:
        rows += _paillier_rows(summary)
        note = (
            "Compression ratio and plaintext-space use as in FLBooster (ICDE 2023), Eqs. 11 and 12, "
            "with this layout's own slots."
        )
    return Table("Bytes of one update", ("what", "figure"), tuple(rows), note)


def _lattice_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    sizes, packing = summary["bytes"], summary["packing"]
    rows = []
    if sizes.get("to_openers_sealed"):  # with a committee, all that opens a sum goes by the aggregator
        rows += [
            ("shares and sums of shares, sent to those who open", format_byte_count(sizes["to_openers_sealed"])),
            ("the same, received", format_byte_count(sizes.get("from_openers_sealed"))),
        ]
    rows += [
        ("the masked numbers alone, before they are sealed", format_byte_count(sizes.get("update_written"))),
        *_clear_rows(summary),
        ("numbers masked (values, weight, counters)", format_count(packing["lane_count"])),
        ("bits of a number's slot", format_count(packing["lane_bits"])),
        ("room in one chunk, in numbers", format_count(packing["lanes_per_ciphertext"])),
        ("one full chunk", format_byte_count(sizes["ciphertext_bytes"])),
        ("chunks in one update", format_count(packing["ciphertext_count"])),
    ]
    for way, key in (("up", "bits_per_value_up"), ("down", "bits_per_value_down")):
        if key in sizes:
            rows.append((f"bits per number in full chunks, {way}", format_number(sizes[key])))
    return rows


def _clear_values(summary: Mapping[str, Any]) -> str:
    mask = summary.get("mask")
    if mask is None:
        return ""
    return f", of its weights {format_count(mask['values'] - mask['masked'])} IN THE CLEAR; the others are"


def _clear_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    mask = summary.get("mask")
    return [] if mask is None else [("weights sent IN THE CLEAR", format_count(mask["values"] - mask["masked"]))]


def _paillier_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    sizes, packing = summary["bytes"], summary["packing"]
    return [
        ("one ciphertext", format_byte_count(sizes["ciphertext_bytes"])),
        ("numbers packed (values, weight, counters)", format_count(packing["lane_count"])),
        ("room in one ciphertext, in numbers", format_count(packing["lanes_per_ciphertext"])),
        ("bits of a ciphertext per number", format_count(packing["lane_bits"])),
        ("ciphertexts in one update", format_count(packing["ciphertext_count"])),
        ("compression ratio, numbers per ciphertext (Eq. 11)", format_number(packing["compression_ratio"])),
        ("plaintext-space use (Eq. 12)", format_share(packing["plaintext_space_use"])),
    ]


def byte_sentences(summary: Mapping[str, Any]) -> list[str]:
    """What the byte ratio of this model says, and what it would be for a large one (calculated, and said so)."""
    sizes, packing = summary["bytes"], summary["packing"]
    protection = summary["settings"]["protection"]
    if protection == "none":
        return ["Updates were sealed between party and aggregator but not encrypted: the aggregator reads them."]
    if packing is None or sizes["ratio_to_float32"] is None:
        return ["The packing was not measured."]
    return _lattice_sentences(summary) if protection == "lattice" else _paillier_sentences(summary)


def _lattice_sentences(summary: Mapping[str, Any]) -> list[str]:
    sizes, packing = summary["bytes"], summary["packing"]
    to_openers = sizes.get("to_openers_sealed")
    opening = "" if to_openers else "what opens the sum, "
    found = [
        f"One update has {format_count(sizes['update_values'])} values{_clear_values(summary)}, "
        f"{format_count(packing['lane_count'])} numbers with its weight and counters. "
        f"Masked these take {format_byte_count(sizes.get('update_written'))}; with "
        f"{opening}signatures, checks and the seal of every message {format_byte_count(sizes['update_sealed'])} go to "
        f"the aggregator, {format_times(sizes['ratio_to_float32'])} the size of float32."
    ]
    if to_openers:
        found.append(
            f"Beside it {format_byte_count(to_openers)} go to those who open the sum, and "
            f"{format_byte_count(sizes.get('from_openers_sealed'))} come from them: shares of the round's secret and "
            "sums of such shares, the same however large the model is."
        )
    bits = sizes.get("bits_per_value_up")
    if bits:
        if fills_partly(summary):
            found.append("That is the price of a small model: messages, seals and shares weigh more than its values.")
        found.append(
            f"A large model takes {format_number(bits)} bits a value up, "
            f"{format_times(bits / _FLOAT32_BITS)} the size of float32 "
            f"(calculated from parameter set {summary['settings'].get('parameter_set', '')}, not measured in this run)."
        )
    return found


def _paillier_sentences(summary: Mapping[str, Any]) -> list[str]:
    sizes, packing = summary["bytes"], summary["packing"]
    ratio = sizes["ratio_to_float32"]
    room = packing["lanes_per_ciphertext"] * packing["ciphertext_count"]
    found = [
        f"One update has {format_count(sizes['update_values'])} values; with its weight and counters it fills "
        f"{format_count(packing['lane_count'])} of {format_count(room)} places in "
        f"{format_count(packing['ciphertext_count'])} {pluralise(packing['ciphertext_count'], 'ciphertext')}, "
        f"and it leaves the party {format_times(ratio)} as large as float32."
    ]
    size = sizes["ciphertext_bytes"]
    if size and packing["lanes_per_ciphertext"]:
        full = size / (4 * packing["lanes_per_ciphertext"])
        if fills_partly(summary) or ratio > 2 * full:
            found.append(
                "That is the price of a small model: a ciphertext is sent whole however little is in it, and so are "
                f"the seal and signature around it ({format_byte_count(_envelope_bytes(sizes, packing))} here)."
            )
        found.append(
            f"An update that fills its ciphertexts would come to about {format_times(full)} float32 "
            "(calculated from the packing, not measured in this run)."
        )
    return found


def _envelope_bytes(sizes: Mapping[str, Any], packing: Mapping[str, Any]) -> int:
    return max(0, (sizes["update_sealed"] or 0) - int(sizes["ciphertext_bytes"] * packing["ciphertext_count"]))
