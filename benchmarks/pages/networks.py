"""The figures of split networks, encrypted models and large networks, from networks.json and networks-accuracy.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pages.markdown import table_head, table_line

NAMES = ("networks", "networks-accuracy")

Content = dict[str, Any]
_FIGURES: Mapping[str, tuple[Callable[[float], str], str]] = {
    "seconds": (lambda value: f"{value:.2f} s", "s"),
    "mb": (lambda value: f"{value:,.2f} MB", "MB"),
    "times_clear": (lambda value: f"{value:.2f} times the same in the clear", "times"),
    "times_numpy": (lambda value: f"{value:.2f} times NumPy's mean of float32", "times"),
    "below": (lambda value: f"AUC {abs(value):.4f} {'above' if value < 0 else 'below'} the joined one", "below"),
}


def render_networks(contents: Mapping[str, Content | None], place: Callable[[Content], str]) -> list[str]:
    """The page's lines; `place` names processor, cores and date of one file's content."""
    networks, accuracy = (contents[name] for name in NAMES)
    missing = [f"`{name}`" for name in NAMES if contents[name] is None]
    lines = [f"**Not measured yet**: {', '.join(missing)}.", ""] if missing else []
    rows = [row for content in (networks, accuracy) if content is not None for row in content["rows"]]
    if rows:
        lines += _aims(rows)
    if networks:
        for section in (_split_network, _encrypted_model, _aggregation):
            lines += section(networks["rows"], place(networks))
    if accuracy:
        lines += _accuracy(accuracy["rows"], place(accuracy))
    return lines


def _aims(rows: list[Content]) -> list[str]:
    """A line for each aim of each row."""
    lines = ["## To reach", "", *table_head(["work", "measured", "to reach", "met", "known elsewhere, other machines"])]
    for row in rows:
        for name, most in row.get("to_reach", {}).items():
            describe, unit = _FIGURES[name]
            met, known = "yes" if row["met"][name] else "**missed**", row["known_elsewhere"].get(name, "")
            lines.append(table_line(row["what"], describe(row[name]), f"at most {most:g} {unit}".rstrip(), met, known))
    return [*lines, ""]


def _split_network(rows: list[Content], place: str) -> list[str]:
    measured = [row for row in rows if row["part"] == "split_network"]
    if not measured:
        return []
    first = measured[0]
    lines = [
        "## A split network",
        "",
        f"On {place}: a guest with labels and 13 columns, a host with 10, {first['batch_rows']:,} rows a batch, an "
        f"interactive layer of {first['layer']} (of 10 x 32 for `source`), all else at its defaults. "
        "An epoch is the median of a run's epochs but the first, which sets up and, where the host's features never "
        "change, brings them once a run. In the clear is the same protocol with protection `none`: the same fixed "
        "point, messages sealed as well. Roles compute one after the other on all cores; *processor* is the time of "
        "all cores and roles, bytes are of both parties, sealed. Losses were held against the same network with all "
        "columns in one place, in float64.",
        "",
        *table_head(
            [
                "host's bottom", "layer", "an epoch", "least to most", "processor", "in the clear", "its processor",
                "times", "times by processor", "sent", "the first epoch", "sent",
            ]
        ),
    ]  # fmt: skip
    for row in measured:
        lines.append(
            table_line(
                _bottom(row),
                row["layer"],
                _seconds(row["seconds"]),
                f"{row['least_s']:.2f} to {row['most_s']:.2f} s" if row["turns"] > 1 else "",
                *(_seconds(row[name]) for name in ("cpu_s", "clear_seconds", "clear_cpu_s")),
                f"{row['times_clear']:.2f}",
                f"{row['times_clear_cpu']:.2f}",
                f"{row['mb']:,.1f} MB",
                _seconds(row["first_s"]),
                f"{row['first_mb']:,.1f} MB",
            )
        )
    steps = sorted({step for row in measured for step in row["steps_s"]})
    lines += ["", *table_head(["step of an epoch, both parties", *map(_bottom, measured)])]
    lines += [table_line(step, *(_seconds(row["steps_s"].get(step, 0.0)) for row in measured)) for step in steps]
    lines.append("")
    for peer in (row for row in rows if row["part"] == "fate_form"):
        lines += [
            f"Form `guest_layer` is FATE's protocol on lattices. As FATE has it, on Paillier with keys of "
            f"{peer['key_bits']} bits and one number a ciphertext, in gmpy2 and one process, an epoch of the layer "
            f"takes {peer['scaled_s']:,.0f} s, scaled up from {peer['sample_rows']} rows.",
            "",
        ]
    return lines


def _bottom(row: Content) -> str:
    """What a host puts in, and the form where it is there to compare."""
    form = row.get("form", "shared")
    return f"`{row['host_bottom']}`" + (f", `{form}`" if form != "shared" else "")


def _encrypted_model(rows: list[Content], place: str) -> list[str]:
    measured = [row for row in rows if row["part"] == "encrypted_model"]
    if not measured:
        return []
    first = measured[0]
    lines = [
        "## Training on an encrypted model",
        "",
        f"On {place}: logistic regression with the Taylor loss, {first['shape']} made-up rows and columns, two hosts, "
        f"batches of {first['batch_rows']:,}, momentum. *A run* is one epoch with everything before it: sealed "
        "channels, keys, means and spreads under masks, the hosts' maps. *A further epoch* is one round more, of the "
        "same batches; *NumPy's steps* are an epoch of both hosts without any protocol. In the clear is protection "
        "`none`: the same fixed point, unencrypted. Weights were held against NumPy's first. Roles compute one after "
        "the other, on all cores; medians of turns, bytes of all roles, sealed.",
        "",
        *table_head(
            [
                "protection", "a run", "least to most", "processor", "in the clear", "its processor", "times", "sent",
                "a further epoch", "in the clear", "times", "sent", "NumPy's steps",
            ]
        ),
    ]  # fmt: skip
    for row in measured:
        lines.append(
            table_line(
                f"{row['protection']} {row['key_bits'] or ''}".strip(),
                _seconds(row["seconds"]),
                f"{row['least_s']:.2f} to {row['most_s']:.2f} s" if row["turns"] > 1 else "",
                *(_seconds(row[name]) for name in ("cpu_s", "clear_seconds", "clear_cpu_s")),
                f"{row['times_clear']:.2f}",
                f"{row['mb']:.2f} MB",
                *(_seconds(row[name]) for name in ("further_s", "further_clear_s")),
                f"{row['further_times_clear']:.2f}",
                f"{row['further_mb']:.2f} MB",
                _seconds(row["numpy_s"]),
            )
        )
    lines.append("")
    for peer in (row for row in rows if row["part"] == "papers_form"):
        lines += [
            f"FLASH and HAFLO measure FATE's form: a ciphertext for each weight, a product a batch, weights decrypted "
            f"and encrypted anew after each. In gmpy2 with keys of {peer['key_bits']} bits, one process, an epoch of "
            f"the same shape takes {peer['scaled_s']:,.0f} s, scaled up from {peer['sample_rows']} rows: "
            f"{peer['times_ours']:,.0f} runs of ours. Known elsewhere, other machines: FLASH, Table 1, 60.74 times the "
            "clear run, 177.94 s for gradients of about 100,000 rows; HAFLO, section 4.2, an epoch 88.4 times faster "
            "with a GPU; FLBooster, Table III, FATE 4,747 s and FLBooster 11.1 s at 100,000 x 10,000, 2048 bits.",
            "",
        ]
    return lines


def _accuracy(rows: list[Content], place: str) -> list[str]:
    lines = [
        "## Held-out rows",
        "",
        f"On {place}: means over seeds, which draw weights, batches and who has which rows; the spread "
        "is over seeds. In one place is the same network, or the minimum of the same loss, with all rows and columns "
        "in one table, in float64; the log loss is scikit-learn's on it, which no encrypted model has.",
        "",
        *table_head(["training", "seeds", "AUC", "spread", "in one place", "below", "to reach", "met", "log loss"]),
    ]
    for row in rows:
        met = "yes" if row["met"]["below"] else "**missed**"
        figures = (f"{row[name]:.4f}" for name in ("auc", "spread", "joined_auc", "below"))
        aim = f"at most {row['to_reach']['below']:g}"
        beside = f"{row['log_loss_auc']:.4f}" if "log_loss_auc" in row else ""
        lines.append(table_line(row["what"], row["seeds"], *figures, aim, met, beside))
    return [*lines, ""]


def _aggregation(rows: list[Content], place: str) -> list[str]:
    measured = [row for row in rows if row["part"] == "aggregation"]
    if not measured:
        return []
    first = measured[0]
    lines = [
        f"## One aggregation of {first['parties']} parties",
        "",
        f"On {place}: modules of published sizes ([examples/flash](flash.md)), all float tensors of their states, "
        f"running means and variances among them, at {first['value_bits']} bits a value. *All roles* is a mean by "
        "`hekat.federate` under the default protection, every role on this machine, one after the other, messages "
        "sealed and ledgers kept; *in the clear* is the same with protection `none`, float32 in the same messages. "
        "*Processor* is the time of all cores and all roles. Bytes are one party's, sealed; memory is the peak of "
        "all roles in one process. Every mean was held against the mean in float64 first.",
        "",
        *table_head(
            [
                "network", "values", "all roles", "least to most", "processor", "in the clear", "its processor",
                "times", "times by processor", "a party works", "aggregator works", "up", "down", "float32, one way",
                "memory", "in the clear",
            ]
        ),
    ]  # fmt: skip
    for row in measured:
        lines.append(
            table_line(
                row["model"],
                f"{row['values']:,}",
                _seconds(row["seconds"]),
                f"{row['least_s']:.2f} to {row['most_s']:.2f} s" if row["turns"] > 1 else "",
                *(_seconds(row[name]) for name in ("cpu_s", "clear_seconds", "clear_cpu_s")),
                f"{row['times_clear']:.2f}",
                f"{row['times_clear_cpu']:.2f}",
                *(_seconds(row[name]) for name in ("party_s", "aggregator_s")),
                *(_megabytes(row[name]) for name in ("up_bytes", "down_bytes", "float32_bytes")),
                *(f"{row[name]:.1f} GiB" for name in ("peak_gib", "clear_peak_gib")),
            )
        )
    lines += [
        "",
        "The operations alone, without messages, by `hekat.fedml_he` on one core in processor time: one party's "
        "encryption and decryption and the server's sum, beside NumPy's weighted mean of as many float32 models.",
        "",
        *table_head(
            ["network", "a party encrypts", "server adds", "a party decrypts", "together", "NumPy's mean", "times"]
        ),
    ]
    for row in measured:
        cells = (_seconds(row[name]) for name in ("encrypt_s", "aggregate_s", "decrypt_s", "operations_s", "numpy_s"))
        lines.append(table_line(row["model"], *cells, f"{row['times_numpy']:.2f}"))
    return [*lines, ""]


def _seconds(value: float) -> str:
    return f"{value:.3f} s" if value < 0.1 else f"{value:.2f} s"


def _megabytes(value: float) -> str:
    return f"{value / 1e6:,.1f} MB"
