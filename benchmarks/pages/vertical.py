"""The figures of parties with different columns, from results/psi.json and results/vertical.json."""

from __future__ import annotations

from typing import Any

from pages.markdown import table_head, table_line

PARTS = ("encrypt", "products", "decrypt", "plain", "sealing", "idle")


def render_vertical(content: dict[str, Any], place: str) -> list[str]:
    """The section's lines; `place` names processor, cores and date."""
    return [
        "## One epoch",
        "",
        _introduction(content, place),
        "",
        *_training(content["rows"]),
        "",
        *_peers(content["peers"]),
        *_flash_of_first_and_own_shape(content),
        *_elsewhere(content["elsewhere"]),
        *_auc(content),
    ]


def render_intersection(content: dict[str, Any], place: str) -> list[str]:
    """The section's lines; `place` names processor, cores and date."""
    lines = [
        "## Two sets of ids",
        "",
        f"On {place}: both parties' seconds together, the result checked against Python's sets. One core is processor "
        "time; a process for each party is the wall's. Beside them, on one core, what does the same.",
        "",
        *table_head(["ids and protocol", "cores", "seconds", "beside", "its seconds", "ratio", "to reach"]),
    ]
    for row in content["rows"]:
        has_other = row.get("other_s") is not None
        lines.append(
            table_line(
                row["work"],
                row["cores"],
                _seconds(row.get("processor_s", row["wall_s"])),
                row["other"] if has_other else "",
                _seconds(row["other_s"]) if has_other else "",
                f"{row['times_other']:.1f}" if "times_other" in row else "",
                row.get("to_reach", ""),
            )
        )
    return [*lines, ""]


def _introduction(content: dict[str, Any], place: str) -> str:
    path = content["engine"]["arithmetic"].split(":")[0]
    keys = ", ".join(f"{seconds:.1f} s at {bits} bits" for bits, seconds in content["key_generation_s"].items())
    return " ".join(
        (
            f"On {place}, path `{path}`: one epoch of logistic regression, {content['data']}, batches of",
            f"{content['batch_rows']:,}. A run is everything from opening sealed channels to the parts of the model,",
            "all parties on this machine, which compute one after the other on all cores; median of",
            f"{content['rows'][0]['turns']}; *processor* is the time of all cores together. The keys are there before",
            f"(a new one took {keys}; the time is chance).",
            "In the clear is the same protocol with protection `none`, its messages sealed as well. Weights are",
            "checked against centralised training first.",
        )
    )


def _protection(row: dict[str, Any]) -> str:
    return f"`paillier`, {row['key_bits']} bits" if row["protection"] == "paillier" else f"`{row['protection']}`"


def _training(rows: list[dict[str, Any]]) -> list[str]:
    table = table_head(
        [
            "form",
            "protection",
            "an epoch",
            "to reach",
            "processor",
            *PARTS,
            "in the clear",
            "times",
            "sent, all parties",
        ]
    )
    for row in rows:
        table.append(
            table_line(
                f"`{row['form']}`",
                _protection(row),
                _seconds(row["seconds"]),
                f"{row['to_reach_s']:g} s" if "to_reach_s" in row else "",
                _seconds(row["processor_s"]),
                *(_seconds(row["parts_s"][part]) for part in PARTS),
                _seconds(row["clear_s"]),
                f"{row['times_clear']:.1f}",
                f"{sum(row['sent_bytes'].values()) / 1e6:,.1f} MB",
            )
        )
    return table


def _peers(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    lines = [
        "Form `arbiter` with one ciphertext a value, one value at a time, in one process: `djn` has the randomisers "
        "that Hekat has, the textbook r^n. Measured on so many rows of a batch, the gradient checked; an epoch is "
        "scaled up by rows, and by batches for what is done once a column. A ratio is over Hekat's run above, on all "
        "cores; beside it, what two such processes would be at no loss.",
        "",
        *table_head(["beside", "key bits", "rows measured", "an epoch", "ratio", "two processes"]),
    ]
    for row in rows:
        lines.append(
            table_line(
                row["peer"],
                row["key_bits"],
                row["sample_rows"],
                _seconds(row["scaled_s"]),
                f"{row['times_ours']:.0f}",
                f"{row['times_ours_two_processes']:.0f}",
            )
        )
    return [*lines, ""]


def _flash_of_first_and_own_shape(content: dict[str, Any]) -> list[str]:
    """FLASH's table under both protections, and at FLASH's own shape; those of other runs are in the results."""
    runs = []
    for rows in (content["rows"], content["elsewhere"]):
        for protection in ("lattice", "paillier"):
            runs += [row for row in rows if "flash" in row and row["protection"] == protection][:1]
    return [line for run in runs for line in _flash(content, run)]


def _flash(content: dict[str, Any], run: dict[str, Any]) -> list[str]:
    batch = f"batches of {run['batch_rows']:,}" if run["batch_rows"] else "all rows in one batch"
    lines = [
        f"The steps of FLASH's Table 1 in form `arbiter`, {_protection(run)}, {run['what']}, {batch}; beside them "
        "FLASH's own figures, known elsewhere (about 100,000 rows, 80 + 1 columns, ten cores).",
        "",
        *table_head(["step", "in the clear", "encrypted", "times", "FLASH, clear", "FLASH, encrypted"]),
    ]
    for row in run["flash"]:
        lines.append(
            table_line(
                row["step"],
                _milliseconds(row["clear_s"]),
                _milliseconds(row["encrypted_s"]),
                "" if row["times"] is None else f"{row['times']:.1f}",
                f"{row['flash_clear_s']:.2f} s",
                f"{row['flash_encrypted_s']:.2f} s",
            )
        )
    lines.append(
        table_line(
            "the whole run",
            _milliseconds(run["clear_s"]),
            _milliseconds(run["seconds"]),
            f"{run['times_clear']:.1f} (to reach {content['times_clear_to_reach']:g})",
            f"{content['flash_times_in_all']:g} times in all",
            "",
        )
    )
    return [*lines, ""]


def _waived(row: dict[str, Any]) -> str:
    return ", rules on gradients waived" if row.get("rules_waived") else ""


def _elsewhere(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    lines = [
        "Shapes whose seconds are known elsewhere, one epoch, form `arbiter`. Where rules on gradients are waived, a "
        "run is refused unless job and sites accept in words that labels and columns may be learned:",
        "",
        *table_head(["shape", "protection", "an epoch", *PARTS, "in the clear", "elsewhere", "there in the clear"]),
    ]
    for row in rows:
        there = row["elsewhere"]
        scaled = "" if row["share"] == 1 else f", scaled up from a share of {row['share']:g}"
        lines.append(
            table_line(
                row["what"] + _waived(row),
                _protection(row),
                _seconds(row["scaled_s"]) + scaled,
                *(_seconds(row["parts_s"][part] / row["share"]) for part in PARTS),
                _seconds(row["clear_s"] / row["share"]),
                f"{_seconds(there['seconds'])} ({there['source']})",
                _seconds(there["clear_s"]) if "clear_s" in there else "",
            )
        )
    return [*lines, ""]


def _auc(content: dict[str, Any]) -> list[str]:
    if not content["auc"]:
        return []
    training = ", ".join(f"{name} {value}" for name, value in content["auc_training"].items())
    rows = content["auc_rows"]
    lines = [
        f"AUC on {rows['test']:,} rows after training on {rows['train']:,} ({training}). Differences are to "
        "scikit-learn's logistic regression on the joined table as it is; what the Taylor objective itself costs "
        "stands beside, trained in one place, and what a limit on the columns does for scikit-learn:",
        "",
        *table_head(["columns", "trained", "AUC", "difference", "to reach", "seconds"]),
    ]
    for row in content["auc"]:
        ours = "seconds" in row
        lines.append(
            table_line(
                row["what"] + _waived(row),
                f"`{row['trained']}`" if ours else row["trained"],
                f"{row['auc']:.4f}",
                f"{row['difference']:+.4f}" if "difference" in row else "",
                f"{row['to_reach']:g}" if ours else "",
                f"{row['seconds']:.0f}" if ours else "",
            )
        )
    return [*lines, ""]


def _seconds(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds >= 100 else f"{seconds:.2f} s"


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:,.0f} ms"
