"""What differential privacy promises: whom it protects, against whom, and what it does not cover."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.report.number_text import format_count, pluralise
from hekat.report.table import Table

_UNITS = {"row": "one row", "party": "one party"}


def privacy_sentence(summary: Mapping[str, Any]) -> str | None:
    """The claim in a sentence or three; None for a run whose sums were exact."""
    found = summary.get("privacy")
    if not found:
        return None
    unit, count = _UNITS[found["unit"]], found["colluders"]
    who = "each party by itself" if count == 1 else f"up to {count} parties together"
    change = "is in" if found["neighbours"] == "zero-out" else "is exchanged for another in"
    releases = f"{format_count(found['releases'])} {pluralise(found['releases'], 'release')}"
    return (
        f"Whether {unit} {change} the training data changes what can be learned from the model by no more than epsilon "
        f"= {say_epsilon(found['epsilon'])} at delta = {found['delta']:g} (zCDP, proved), against everybody who gets "
        f"the model, {who}; {say_epsilon(found['epsilon_at_one'])} against one party by itself. Of {releases} with "
        f"noise {found['noise']:.4g}. The aggregator is none of these: it sees no sum, and is not to work with them."
    )


def say_epsilon(epsilon: float | None) -> str:
    """Three digits; a word where there is no finite one."""
    return "no finite bound" if epsilon is None else f"{epsilon:.3g}"


def budget_sentence(summary: Mapping[str, Any]) -> str | None:
    """What each party's rows have spent, and sites that ask for another t_c than the job has; None where no budget is
    known."""
    budgets = (summary.get("privacy") or {}).get("budgets", [])
    if not budgets:
        return None
    told = (
        f"{one['party']} {say_epsilon(one['epsilon'])} of {one['limit']:g} "
        f"({max(0.0, one['limit'] - (one['epsilon'] or 0.0)):.3g} left)"
        for one in budgets
    )
    spent = f"Epsilon spent over all jobs on a data set: {', '.join(told)}."
    count = summary["privacy"]["colluders"]
    others = [f"{one['party']} {one['colluders']}" for one in budgets if one.get("colluders", count) != count]
    if not others:
        return spent
    return f"{spent} The job's noise counts against t_c = {count}; sites ask for at least: {', '.join(others)}."


def privacy_table(summary: Mapping[str, Any]) -> Table | None:
    """The claim in figures, each with its precondition; None for a run whose sums were exact."""
    found = summary.get("privacy")
    if not found:
        return None
    other = next(name for name in found["epsilon_by_neighbours"] if name != found["neighbours"])
    sampled = "all rows" if found["batches"] == "all" else f"each row by a secret coin of {found['sampling']:g}"
    rows = (
        (
            "epsilon, proved (zCDP)",
            say_epsilon(found["epsilon"]),
            f"t_c = {found['colluders']}: so many parties together",
        ),
        ("epsilon at t_c = 1", say_epsilon(found["epsilon_at_one"]), "one party, which knows its own noise"),
        ("if noise were continuous", say_epsilon(found["epsilon_if_continuous"]), "by loss distributions: not proved"),
        (f"epsilon, {other}", say_epsilon(found["epsilon_by_neighbours"][other]), "the other neighbours, proved"),
        ("delta", f"{found['delta']:g}", f"unit: a {found['unit']}; neighbours: {found['neighbours']}"),
        ("noise multiplier z", f"{found['noise']:.4g}", f"in the smallest sum, of {found['least_parties']} parties"),
        ("clip", f"{found['clip']:g}", f"L2 norm of a {found['unit']}'s term; loss cut at {found['loss_bound']:g}"),
        ("rows of a round", sampled, f"divisor {format_count(found['divisor'])}"),
        (
            "noise of a loss",
            f"{found['loss_std']:.3g}",
            "standard deviation of a round's loss at most, by noise and coins, if no party is lost",
        ),
        ("noise for rounding", f"{100 * (found['excess'] - 1):.2g} %", f"more; {format_count(found['levels'])} levels"),
    )
    return Table(
        f"Differential privacy after {format_count(found['releases'])} {pluralise(found['releases'], 'round')}",
        ("", "value", "where"),
        rows,
        "Not covered: row counts, columns, and who was in which round, which are public; test data; choices that were "
        "made by looking at the rows. A party that leaves out its noise counts among these t_c.",
        text_columns=3,
    )
