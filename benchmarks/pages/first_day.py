"""The figures of the first day with own data, from results/first-day.json and results/defaults-*.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pages.markdown import table_head, table_line

Contents = Mapping[str, dict[str, Any] | None]

DEFAULTS = {
    "defaults-horizontal": "rows at several parties",
    "defaults-mlp": "networks, rows at several parties",
    "defaults-vertical": "columns at two parties",
}
NAMES = ("first-day", *DEFAULTS)


def render_first_day(contents: Contents, place_of: Any) -> list[str]:
    """The page's lines; `place_of` names processor, cores and date of one content."""
    lines = ["## To reach", "", *table_head(["work", "aim", "measured", "reached", "on"])]
    day = contents.get("first-day")
    for row in [] if day is None else day["rows"]:
        lines += [_aim(*cells, place_of(day)) for cells in _AIMS[row["work"]](row)]
    for name, where in DEFAULTS.items():
        content = contents.get(name)
        if content is not None:
            lines.append(_aim(*_aim_of_defaults(content, where), place_of(content)))
    for row in [] if day is None else day["rows"]:
        lines += ["", *_SECTIONS[row["work"]](row)]
    for name, where in DEFAULTS.items():
        content = contents.get(name)
        if content is not None:
            lines += ["", *_defaults(content, where, place_of(content))]
    missing = [name for name in NAMES if contents.get(name) is None]
    return [*lines, *(["", f"**Not measured yet**: {', '.join(missing)}."] if missing else [])]


def _aims_of_day(row: dict[str, Any]) -> list[tuple[Any, ...]]:
    work = f"{row['parties']} tables with texts and gaps, {row['rows']:,} rows: from files to predictions"
    aim = f"{row['to_reach_s'] / 60:.0f} min, {row['to_reach_commands']} commands, {row['to_reach_edits']} edit"
    found = f"{row['seconds']:.1f} s, {row['commands']} commands, {row['edits']} edits"
    score = f"AUC {row['auc']:.4f}; scikit-learn {row['scikit_learn_auc']:.4f}"
    return [(work, f"{aim}, AUC within 0.01 of scikit-learn's", f"{found}, {score}", row["reached"])]


def _aims_of_million(row: dict[str, Any]) -> list[tuple[Any, ...]]:
    work = f"{row['rows']:,} x {row['columns']} at {row['parties']} parties, `hekat run`"
    found = f"{row['seconds']:.1f} s, {row['accuracy']:.1%} right; scikit-learn {row['scikit_learn_accuracy']:.1%}"
    return [(work, f"{row['to_reach_s']} s, to scikit-learn's score", found, row["reached"])]


def _aims_of_many(row: dict[str, Any]) -> list[tuple[Any, ...]]:
    work = f"{row['parties']} parties, {row['rounds']} rounds, {row['values']:,} values, `hekat run`"
    sent, aim = row["sent_in_rounds_bytes"], row["to_reach_bytes"]
    return [
        (work, f"{row['to_reach_s']} s", f"{row['seconds']:.1f} s", row["reached"]),
        ("the same: what the parties send in these rounds", _megabytes(aim), _megabytes(sent), row["bytes_reached"]),
    ]


_AIMS = {"day": _aims_of_day, "million": _aims_of_million, "many": _aims_of_many}


def _aim_of_defaults(content: dict[str, Any], where: str) -> tuple[Any, ...]:
    rows, allowed = content["rows"], content["allowed"]
    within = sum(row["difference"] >= -allowed for row in rows)
    worst = min(rows, key=lambda row: row["difference"])
    found = f"{within} of {len(rows)}; the lowest {worst['difference']:+.4f} ({worst['data']})"
    return f"defaults, {where}", f"within {allowed:g} of scikit-learn on all", found, within == len(rows)


def _day(row: dict[str, Any]) -> list[str]:
    return [
        "## From files to predictions",
        "",
        f"`hekat init` took {row['init_s']:.1f} s, `hekat run` {row['run_s']:.1f} s with its report, `hekat predict` "
        f"{row['predict_s']:.1f} s for {row['new_rows']:,} new rows; the tables are those of the "
        "[first hour](../tutorials/first_hour.md). scikit-learn has the rows of all parties in one table, which nobody "
        f"may have. Log-loss on the new rows: {row['log_loss']:.3f}.",
    ]


def _million(row: dict[str, Any]) -> list[str]:
    return [
        "## A million rows",
        "",
        f"Made rows in CSV files. `hekat init` read them in {row['init_s']:.1f} s; `hekat run` took "
        f"{row['seconds']:.1f} s, {row['training_s']:.1f} s of it in training ({row['rounds']} rounds), "
        f"{row['processor_s']:.1f} s of processor time and {row['peak_mib']:,.0f} MiB at most, all roles in one "
        f"process. Both scores are of {row['held_out_rows']:,} held-out rows, other ones for each. scikit-learn's fit "
        f"takes {row['scikit_learn_fit_s']:.1f} s, reading no file.",
    ]


def _many(row: dict[str, Any]) -> list[str]:
    return [
        "## Two hundred parties",
        "",
        f"Logistic regression on made rows, {row['rows_per_party']} at each party, in one process: "
        f"{row['processor_s']:.0f} s of processor time, {row['peak_mib']:,.0f} MiB at most. With the set-up the "
        f"parties sent {_megabytes(row['sent_by_parties_bytes'])}, all roles together "
        f"{_megabytes(row['sent_by_all_bytes'])}; the run's folder takes {_megabytes(row['folder_bytes'])}.",
    ]


_SECTIONS = {"day": _day, "million": _million, "many": _many}


def _defaults(content: dict[str, Any], where: str, place: str) -> list[str]:
    lines = [
        f"## Defaults beside scikit-learn: {where}",
        "",
        f"On {place}: jobs that name no algorithm, rate or rounds, and scikit-learn on all rows in one table, "
        f"both scored on the same quarter of the rows.{_how_trained(content['rows'][0])}",
        "",
        *table_head(["data", "rows", "columns", "score", "Hekat", "scikit-learn", "difference"]),
    ]
    for row in content["rows"]:
        scores = (f"{row['hekat']:.4f}", f"{row['scikit_learn']:.4f}", f"{row['difference']:+.4f}")
        lines.append(table_line(row["data"], f"{row['rows']:,}", row["columns"], row["score"], *scores))
    return lines


def _how_trained(row: dict[str, Any]) -> str:
    if row.get("protection") != "none":
        return ""
    return " These jobs trained in the clear; under masks the sums are rounded, and a search can take other steps."


def _aim(work: str, aim: str, found: str, reached: bool, place: str) -> str:
    return table_line(work, aim, found, "yes" if reached else "**missed**", place)


def _megabytes(count: float) -> str:
    return f"{count / 1e6:,.1f} MB"
