"""What validation said: on held-out rows every model at the end and the run's own round by round, and on folds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.report.measured_rows import rows_name
from hekat.report.number_text import describe_metric, format_count, format_metric, format_number
from hekat.report.table import METRIC_ORDER, Table, metric_title

# So many rounds are listed at most: the first, the last, and some at equal distances.
_MOST_ROUNDS = 12


def validation_names(summary: Mapping[str, Any]) -> list[str]:
    """The metrics that validation measured, best known first."""
    rounds = [item for made in summary.get("rounds", {}).values() for item in made]
    found = {name for item in (*summary["results"], *rounds) for name in item.get("validation", {})}
    return [name for name in METRIC_ORDER if name in found]


def validation_table(summary: Mapping[str, Any]) -> Table | None:
    """Every model on held-out rows; None where nothing was held out."""
    results = [result for result in summary["results"] if result.get("validation")]
    if not results:
        return None
    names = validation_names(summary)
    columns = ["model", "held-out rows", *map(metric_title, names)]
    rows = [
        (result["name"], format_count(result["validation"]["rows"]), *_cells(result["validation"], names))
        for result in results
    ]
    note = (
        "No party trained on these rows. Their counts were summed encrypted: parties know them over all parties only."
    )
    if any(result["kind"] == "alone" for result in results):
        note += " A model trained alone is measured on that party's own held-out rows, so its row is of other data."
    if "auc" in names:
        note += " AUC from counts in bins: ± is how far it can be off at most."
    return Table("Each model on rows that the parties held out", tuple(columns), tuple(rows), note)


def validation_round_table(summary: Mapping[str, Any]) -> Table | None:
    """The run's own model round by round: metrics on held-out rows and on the common test set."""
    names, kind = validation_names(summary), summary["results"][-1]["kind"]
    made = summary["rounds"].get(kind, [])
    tested = {item["round"] + 1: item.get("metrics", {}) for item in made}
    listed = [(item["round"], item["validation"]) for item in made if item.get("validation")]
    if not listed:
        return None
    every = max(1, -(-(len(listed) - 1) // (_MOST_ROUNDS - 1)))
    shown = [
        (format_count(number), found, tested.get(number, {}))
        for place, (number, found) in enumerate(listed)
        if not place % every or place == len(listed) - 1
    ]
    final = summary["results"][-1].get("validation")
    if final:
        shown.append(("end", final, made[-1].get("metrics", {})))
    test_names = [name for name in names if any(name in metrics for _, _, metrics in shown)]
    return Table(
        "Validation, round by round",
        (
            "round",
            *(f"held-out {describe_metric(name).title}" for name in names),
            *(f"{rows_name(summary)} {describe_metric(name).title}" for name in test_names),
        ),
        tuple(
            (number, *(_cell(held_out, name) for name in names), *(_cell(metrics, name) for name in test_names))
            for number, held_out, metrics in shown
        ),
        "Each line is of one model, that at the start of the round. – : not measured.",
    )


def validation_points(summary: Mapping[str, Any], kind: str, name: str) -> list[tuple[int, float]]:
    """(round, metric of the model at its start); the final model counts as one round more."""
    made = summary["rounds"].get(kind, [])
    points = [(item["round"], item["validation"][name]) for item in made if name in item.get("validation", {})]
    final: Mapping[str, float] = next((r.get("validation", {}) for r in summary["results"] if r["kind"] == kind), {})
    return [*points, *([(made[-1]["round"] + 1, final[name])] if made and name in final else [])]


def validation_sentence(summary: Mapping[str, Any]) -> str | None:
    """How the loss on held-out rows went, for the run itself."""
    kind = summary["results"][-1]["kind"]
    name = next((name for name in ("log_loss", "rmse") if name in summary["results"][-1].get("validation", {})), None)
    if name is None:
        return None
    final = summary["results"][-1]["validation"][name]
    title = describe_metric(name).title
    points = validation_points(summary, kind, name)
    if len(points) < 2:
        return f"On rows that the parties held out the model ends with {title} {format_metric(name, final)}."
    number, best = min(points, key=lambda point: point[1])
    text = f"On rows that the parties held out {title} went from {format_metric(name, points[0][1])} "
    text += f"to {format_metric(name, final)}"
    if best < final:
        text += f"; least, {format_metric(name, best)}, it was at the start of round {number}"
    return text + "."


def fold_brief(summary: Mapping[str, Any]) -> Table | None:
    """Mean and deviation over the folds under short heads; None where the job had none."""
    found = summary.get("cross_validation")
    names = fold_names(summary)
    if not found or not names:
        return None
    rows = (
        (f"mean of {len(found['folds'])} folds", *(_cell(found["mean"], name) for name in names)),
        ("± over the folds", *(_cell(found["deviation"], name) for name in names)),
    )
    note = "Each row was measured once, by a model that was not trained on it; the run's model is trained on all rows."
    return Table("", ("", *(describe_metric(name).title for name in names)), rows, note)


def fold_names(summary: Mapping[str, Any]) -> list[str]:
    """The metrics that were measured on all folds, best known first."""
    return [name for name in METRIC_ORDER if name in summary.get("cross_validation", {}).get("mean", {})]


def fold_table(summary: Mapping[str, Any]) -> Table | None:
    """Every fold's model on the rows of the fold, then mean and deviation; None where the job had no folds."""
    found, names = summary.get("cross_validation"), fold_names(summary)
    if not found:
        return None
    rows = [
        (f"fold {number}", format_count(one["rows"]), format_count(one["rounds"]), *_cells(one, names))
        for number, one in enumerate(found["folds"], 1)
    ]
    rows += [
        (label, "", "", *(_cell(found[key], name) for name in names))
        for label, key in (("mean", "mean"), ("± over the folds", "deviation"))
    ]
    note = (
        "Each model was trained without its fold, all parties together, and measured on it. ±: the standard deviation "
        "over the folds, by their number less one."
    )
    if "auc" in names:
        note += " AUC from counts in bins: ± beside it is how far it can be off at most."
    return Table("Cross-validation", ("", "rows", "rounds", *map(metric_title, names)), tuple(rows), note)


def fold_sentence(summary: Mapping[str, Any]) -> str | None:
    """Mean and deviation of each metric over the folds; None where the job had none."""
    found, names = summary.get("cross_validation"), fold_names(summary)
    if not found or not names:
        return None
    items = [
        f"{describe_metric(name).title} {_cell(found['mean'], name)} ± {_cell(found['deviation'], name)}"
        for name in names
    ]
    return f"Over {len(found['folds'])} folds, each measured by a model trained without it: {', '.join(items)}."


def fold_warning(summary: Mapping[str, Any]) -> str | None:
    """That models of folds came to the last round before their loss settled; None otherwise."""
    found = summary.get("cross_validation")
    if not found or not found["unsettled"]:
        return None
    count = found["unsettled"]
    return (
        f"{format_count(count)} of the {len(found['folds'])} models of folds came to the last round, so that their "
        "metrics can be worse than the metrics of models that settle: raise training.rounds."
    )


def _cells(metrics: Mapping[str, float], names: list[str]) -> list[str]:
    return [
        f"{_cell(metrics, name)} ± {format_number(metrics['auc_error'])}"
        if name == "auc" and metrics.get("auc_error")
        else _cell(metrics, name)
        for name in names
    ]


def _cell(metrics: Mapping[str, float], name: str) -> str:
    return format_metric(name, metrics[name]) if name in metrics else "–"
