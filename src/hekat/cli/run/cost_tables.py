"""An estimate of a round's cost as tables for the terminal."""

from __future__ import annotations

from hekat.cost.horizontal import HorizontalCost, ProtectionCost, RoleCost
from hekat.cost.maps import MapCost
from hekat.cost.rehearsed_steps import ColumnsCost
from hekat.report import Table
from hekat.report.number_text import format_byte_count, format_count, format_seconds

_STEPS = ("train", "encode", "encrypt", "aggregate", "decrypt", "check", "decode", "shares", "seal")


def cost_tables(found: HorizontalCost, *, verbose: bool) -> list[Table]:
    """Each role's round under the job's own protection, and the protections side by side.

    With `verbose` also the seconds by step, and how numbers are packed.
    """
    own = found.costs[0]
    tables = [_bytes_table(found, own), *([_seconds_table(own)] if verbose else [])]
    if own.packing is not None and verbose:
        tables.append(_packing_table(found, own))
    if found.maps is not None:
        tables.append(_maps_table(found.maps))
    return [*tables, _comparison(found)]


def columns_cost_table(found: ColumnsCost) -> Table:
    """What each role of a job on columns sends and works in its first step, in each later one, and in all."""
    return steps_cost_table(
        found,
        "if all rows of the smallest table are common",
        f"{found.say_apart()}, apart",
    )


def steps_cost_table(found: ColumnsCost, condition: str, apart: str) -> Table:
    """What each role sends and works in its first step, in each later one, and in all; `apart` is what is not in it."""
    rows = [
        (
            role.role,
            *(format_byte_count(round(cost.sent_bytes)) for cost in (role.first, role.later)),
            *(format_seconds(cost.seconds) for cost in (role.first, role.later)),
            format_byte_count(round(role.total(found.steps).sent_bytes)),
            format_seconds(role.total(found.steps).seconds),
        )
        for role in found.roles
    ]
    total = found.total
    rows.append(("all", "", "", "", "", format_byte_count(round(total.sent_bytes)), format_seconds(total.seconds)))
    return Table(
        "Training, by role",
        (
            "role",
            "sends first",
            "each later",
            "works first",
            "each later",
            "sends in all",
            "works in all",
        ),
        tuple(rows),
        f"{found.say_steps()}, {condition}; the first {found.word} with what comes before it. Rehearsed just now on "
        f"random rows; {apart}.",
    )


def _bytes_table(found: HorizontalCost, own: ProtectionCost) -> Table:
    has_line = own.roles[0].transfer_s is not None
    rows = [
        (
            role.role,
            format_byte_count(role.traffic.sent_bytes),
            format_byte_count(role.traffic.received_bytes),
            format_count(role.traffic.sent_count),
            format_seconds(role.total_s),
            *((format_seconds(role.transfer_s),) if has_line else ()),
        )
        for role in own.roles
    ]
    # Whatever one role sends another one receives.
    messages = sum(role.traffic.sent_count for role in own.roles)
    total = format_byte_count(own.round_bytes)
    rows.append(("all", total, total, format_count(messages), "", *(("",) if has_line else ())))
    line = "; on the line: its own bytes one after the other, and the way once for each step" if has_line else ""
    return Table(
        f"Round {found.number} under {own.protection} ({own.detail})",
        ("role", "sends", "receives", "messages", "works", *(("on the line",) if has_line else ())),
        tuple(rows),
        f"Sealed, shares and signatures included, while nobody is lost{line}.",
    )


def _seconds_table(own: ProtectionCost) -> Table:
    parties = [role for role in own.roles if is_party(role)]
    others = [role for role in own.roles if not is_party(role)]
    rows = []
    for step in (step for step in _STEPS if any(step in role.seconds for role in own.roles)):
        rows.append((step, *(_largest(roles, step) for roles in (parties, *([role] for role in others)))))
    rows.append(
        ("together", *(format_seconds(max(r.total_s for r in roles)) for roles in (parties, *([r] for r in others))))
    )
    total = sum(role.total_s for role in own.roles)
    return Table(
        "Seconds of that round on this machine",
        ("step", "a party, at most", *(role.role for role in others)),
        tuple(rows),
        f"{format_seconds(total)} for all roles one after the other. Measured just now on this job's parameters and "
        "tables; what ledgers and Python between the steps take is not in it.",
    )


def is_party(role: RoleCost) -> bool:
    """Whether the role is a party: parties open sums also in rounds in which they do not train."""
    return "train" in role.seconds or "decrypt" in role.seconds


def _largest(roles: list[RoleCost], step: str) -> str:
    found = [role.seconds[step] for role in roles if step in role.seconds]
    return format_seconds(max(found)) if found else ""


def _packing_table(found: HorizontalCost, own: ProtectionCost) -> Table:
    packing = own.packing
    assert packing is not None  # the caller has checked
    rows = (
        ("values in one update", format_count(found.value_count)),
        ("the same as plain float32 numbers", format_byte_count(4 * found.value_count)),
        ("numbers encrypted (values, weight, counters)", format_count(packing.lane_count)),
        ("ciphertexts", format_count(packing.ciphertext_count)),
        ("numbers to a ciphertext: compression, and time saved", f"{packing.compression_ratio:,.1f}"),
        ("use of the plaintext space", f"{100 * packing.plaintext_space_use:.1f}%"),
    )
    return Table(
        "Packing",
        ("what", "figure"),
        rows,
        "FLBooster (ICDE 2023), Eqs. 11 to 13, with this layout's lanes.",
    )


def _maps_table(maps: MapCost) -> Table:
    rows = (
        ("maps in the run", format_count(maps.count)),
        ("seconds of one, a party, at most", format_seconds(max(maps.seconds.values()))),
        ("sums and gradients in memory, beside the model", format_byte_count(maps.held_bytes)),
    )
    return Table(
        "Sensitivity maps, by which a part of every update is masked",
        ("what", "figure"),
        rows,
        "Measured just now on each party's table; activations of a row take memory on top. What is sent to agree on a "
        "mask is among all bytes of the run.",
    )


def _comparison(found: HorizontalCost) -> Table:
    rows = []
    for cost in found.costs:
        parties = [role for role in cost.roles if is_party(role)]
        others = [role for role in cost.roles if role not in parties]
        rows.append(
            (
                cost.protection,
                cost.detail,
                format_byte_count(max(role.traffic.sent_bytes for role in parties)),
                format_byte_count(max(role.traffic.received_bytes for role in parties)),
                format_byte_count(cost.round_bytes),
                format_byte_count(cost.first_bytes + found.round_count * cost.round_bytes + cost.last_bytes),
                format_seconds(max(role.total_s for role in parties)),
                format_seconds(max(role.total_s for role in others)),
            )
        )
    left_out = "".join(f" {name} is left out: {reason}." for name, reason in found.left_out.items())
    return Table(
        "The protections that this site allows",
        ("protection", "with", "sends", "receives", "a round", "in all", "party", "aggregator"),
        tuple(rows),
        "The first is the job's own. Sends, receives, party: the largest of all parties' figures. A round: all roles. "
        f"In all: {found.round_count} rounds at most, with the sums before and after them; the session's opening "
        f"apart.{left_out}",
        text_columns=2,
    )
