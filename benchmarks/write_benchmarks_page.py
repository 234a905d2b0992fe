"""Writes docs/measured/training.md and its plots, the papers' workloads, from benchmarks/results; nothing by hand."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pages.small_updates import render_agreement, render_table_6
from training.plots import plot_curves, plot_sizes, plot_times

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
PAGE = ROOT / "docs" / "measured" / "training.md"
IMAGES = ROOT / "docs" / "measured" / "images"
WORKLOADS = ("mlp", "cnn", "lstm")
MOST_TIMES_PLAIN, MOST_POINTS, MOST_BIAS = 1.10, 0.3, 0.001

_HEAD = """# The papers' workloads, measured

Written by `benchmarks/write_benchmarks_page.py` from `benchmarks/results/`, where every figure has its machine,
versions and date. `make bench-training DATA=FOLDER` measures anew; [single operations](operations.md) and the other
[measured pages](index.md) stand beside this one.
"""

Row = Mapping[str, Any]


def render() -> str:
    """The page, from the results that are there; plots are written on the way."""
    lines = [_HEAD]
    for part in (_training, _credit, _fedml_he, _small_updates, _memory):
        lines += [*part(), ""]
    return "\n".join(lines).rstrip() + "\n"


def _training() -> Iterator[str]:
    found = {name: _read(f"training-{name}") for name in WORKLOADS}
    yield "## BatchCrypt's three models, nine parties\n"
    measured = {name: content for name, content in found.items() if content is not None}
    if not measured:
        yield _MISSING
        return
    yield from (f"- {_conditions(content)}" for content in measured.values())
    yield f"\n{_HOW_TRAINED}"
    head = (
        "model",
        "algorithm",
        "rounds",
        "protection",
        "bits",
        "exchange s",
        "of training",
        "times plain",
        "measured",
        "accuracy",
        "points",
        "bias",
        "up, MB",
        "float32, MB",
    )
    rows = [row for content in measured.values() for row in content["rows"]]
    yield from _table(head, [_training_row(row) for row in rows])
    yield ""
    for name, content in measured.items():
        if plot_curves(content["rows"], IMAGES / f"training-{name}.svg"):
            title = f"Training loss and test accuracy by round: {content['rows'][0]['name']}"
            yield f"![{title}](images/training-{name}.svg)\n"
    if plot_times([content["rows"] for content in measured.values()], IMAGES / "training-times.svg"):
        yield "![Seconds of a round beside local training](images/training-times.svg)\n"
    yield from _falls_short(rows)


_HOW_TRAINED = """\
The run without encryption is Hekat's own with protection `none`: a job's updates travel as float64, sealed, signed and
compared between the parties as any other, and so its exchange takes time too, and twice the bytes of bare float32,
which the last column has and which was not timed. A round of `fedavg` is one local epoch;
`fedsgd` is run for some rounds of one batch each, for its time and its bias, not to a good model.

- *Exchange*: the median of a round's seconds beside local training; *of training*: all of it over all of that.
- *Times plain*: training and this exchange over training and the plain one, all rounds with the first, which sets up.
  Training is the same work in both, so the plain run's is taken. *Measured*: the seconds of the whole run over those of
  the other, in which the machine's own drift between them shows.
- *Points*: accuracy on all test rows less that of the run without encryption.
- *Bias*: |L - L_enc| / L of the last model's loss over all training rows (FLBooster, Eq. 15). The run with *one bit
  changed* differs from the one without encryption in the last bit of one first weight: what training makes of that.
  Where *rounds* says 1, the bias is that of one round from the first weights, and tells nothing of a trained model.
- Paillier's sums are the same numbers as lattice's, which is checked on the model of a run cut short; its exchange is
  from there, its ratio computed for as many rounds.
- Points of the plots are of 5,000 fixed rows, the last of all rows.
"""


def _conditions(content: Row) -> str:
    """One sentence on how a workload was trained, and where."""
    decay = f", times {content['decay']:g} after each round" if content["decay"] != 1 else ""
    runs = "one run of each" if content["turns"] == 1 else f"the median of {content['turns']} runs of each, in turns"
    return " ".join(
        (
            f"{content['rows'][0]['name']}: {content['train_rows']:,} rows to train on, {content['test_rows']:,} to",
            f"test on ({content['data']}), batches of {content['batch_rows']}; {content['optimiser']}, rate",
            f"{content['rate']:g}{decay}; fedsgd at {content['fedsgd_rate']:g}; {runs}. {_place(content)}, PyTorch",
            f"{content['torch']}, {content['threads']} threads; all roles on this machine, in turns.",
        )
    )


def _training_row(row: Row) -> list[str]:
    return [
        row["name"],
        row["algorithm"],
        "" if row["times_plain"] is None else _text(len(row["accuracy"])),
        row["protection"] + (", one bit changed" if row["is_nudged"] else ""),
        _text(row["value_bits"]),
        f"{row['median_exchange_s']:.3g}",
        f"{100 * row['exchange_over_training']:.3g}%",
        f"{row['times_plain_by_exchange']:.3f}",
        "" if row["times_plain"] is None else f"{row['times_plain']:.2f}",
        "" if row["times_plain"] is None else f"{100 * row['accuracy'][-1]:.2f}%",
        "" if row["accuracy_points"] is None else f"{row['accuracy_points']:+.2f}",
        "" if row["convergence_bias"] is None else f"{100 * row['convergence_bias']:.3f}%",
        f"{row['costs']['up_bytes'] / 1e6:.3g}",
        f"{row['costs']['float32_bytes'] / 1e6:.3g}",
    ]


def _falls_short(rows: Sequence[Row]) -> Iterator[str]:
    """What was to be reached and was not, in words: lattice at 1.10 times plain, 0.3 points, and 0.1% at 16 bits."""
    short = []
    for row in rows:
        if row["algorithm"] != "fedavg" or row["protection"] != "lattice":
            continue
        name, times = f"{row['name']} at {row['value_bits']} bits", row["times_plain_by_exchange"]
        if times > MOST_TIMES_PLAIN:
            short.append(f"{name}: {times:.3f} times plain, to reach {MOST_TIMES_PLAIN:.2f}")
        if abs(row["accuracy_points"]) > MOST_POINTS:
            short.append(f"{name}: {row['accuracy_points']:+.2f} points, to reach {MOST_POINTS}")
        if row["value_bits"] == 16 and row["convergence_bias"] > MOST_BIAS:
            short.append(f"{name}: bias {100 * row['convergence_bias']:.2f}%, to reach {100 * MOST_BIAS:.1f}%")
    yield "What falls short of its aim:\n" if short else "Every aim for `fedavg` with lattice is reached."
    yield from (f"- {line}" for line in short)


def _credit() -> Iterator[str]:
    content = _read("training-credit")
    yield "## UCI credit default, three parties by rows\n"
    if content is None:
        yield _MISSING
        return
    rows = content["rows"]
    counts = [f"{count:,} at {party}" for party, count in rows[0]["rows"].items() if party != "test"]
    yield _prose(
        f"On {_place(content)}. Rows: {', '.join(counts)}; {rows[0]['rows']['test']:,} to test on.",
        f"{rows[0]['rounds']} rounds of `fedavg`; *centralised*: as many epochs on all rows in one place;",
        "*alone*: on that party's rows only.",
    )
    head = ("model", "trained", "AUC", "accuracy", "log-loss", "seconds")
    yield from _table(
        head,
        [
            [
                row["model"],
                row["way"],
                f"{row['metrics']['auc']:.4f}",
                f"{100 * row['metrics']['accuracy']:.1f}%",
                f"{row['metrics']['log_loss']:.4f}",
                _number(row["seconds"]),
            ]
            for row in rows
        ],
    )


def _fedml_he() -> Iterator[str]:
    content = _read("fedml_he")
    yield "## FedML-HE: models of 101 to 109,482,240 values\n"
    if content is None:
        yield _MISSING
        return
    yield _prose(
        f"On {_place(content)}, one core, processor time. Seconds are one client's, encrypting and decrypting, and the",
        "server's for all clients. Lattice is `hekat.fedml_he`: a key authority opens; shares and sealing are left",
        "out, as they are of CKKS (SEAL by TenSEAL, FedML-HE's parameters). A model's row is a random vector of as",
        "many float32 values: nothing was trained, and no scheme's time depends on the values. Plain is NumPy's",
        "weighted mean of float32 arrays, neither sealed nor sent. The paper's column is of its own machine and",
        "library, for orientation. A row without a figure says why.",
    )
    rows = content["rows"]
    by_model: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_model.setdefault(row["model"], {})[row["scheme"]] = row
    head = (
        "model",
        "values",
        "plain s",
        "lattice s",
        "CKKS s",
        "paper s",
        "lattice up, MB",
        "CKKS up, MB",
        "float32, MB",
    )
    yield from _table(head, [_model_row(name, found) for name, found in by_model.items()])
    yield ""
    if plot_sizes(rows, IMAGES / "fedml-he-sizes.svg"):
        yield "![Seconds of one aggregation by model size](images/fedml-he-sizes.svg)\n"
    yield "### CKKS by batch and scale (Table 4), the CNN of 1,663,370 values\n"
    sweep = content["table_4"]
    head = ("values in a ciphertext", "bits of the scale", "seconds", "up, MB", "largest error")
    yield from _table(
        head, [[_text(r["batch"]), _text(r["scale_bits"]), *_cells(r), _number(r.get("largest_error"))] for r in sweep]
    )
    yield "\n### 3 to 200 clients (Fig. 11), the same CNN\n"
    yield _re_used(content["figure_11"])
    head = ("clients", "scheme", "seconds, one client and the server", "up of one client, MB")
    yield from _table(head, [[_text(r["clients"]), r["scheme"], *_cells(r)] for r in content["figure_11"]])


def _re_used(rows: Sequence[Row]) -> str:
    """Which CKKS rows the server added the same uploads more than once in."""
    fewer = [row for row in rows if row.get("clients_encrypting", row["clients"]) < row["clients"]]
    if not fewer:
        return _prose("Every client encrypts an upload of its own.")
    counts = _and_list([_text(row["clients"]) for row in fewer])
    encrypting = _and_list(sorted({_text(row["clients_encrypting"]) for row in fewer}))
    return _prose(
        f"Under CKKS with {counts} clients only {encrypting} of them encrypt an upload; the server reads and adds",
        "these again and again, as if the others had sent them. One client's time is the median of those that",
        "encrypt. Plain and lattice have an upload of every client.",
    )


def _and_list(words: Sequence[str]) -> str:
    return " and ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else words[0]


def _model_row(name: str, found: Mapping[str, Row]) -> list[str]:
    some = next(iter(found.values()))

    def seconds(scheme: str) -> str:
        row = found.get(scheme, {})
        return _number(row.get("total_s")) or str(row.get("missing", ""))

    def megabytes(scheme: str) -> str:
        up = found.get(scheme, {}).get("upload_bytes")
        return "" if up is None else _megabytes(up)

    return [
        name,
        f"{some['values']:,}",
        *(seconds(scheme) for scheme in ("plain", "lattice", "ckks")),
        _number(some.get("paper_he_s")),
        megabytes("lattice"),
        megabytes("ckks"),
        _megabytes(4 * some["values"]),
    ]


def _small_updates() -> Iterator[str]:
    for name, render_part in (("small-updates", render_table_6), ("small-updates-agreement", render_agreement)):
        content = _read(name)
        yield from render_part(content, "" if content is None else _place(content))


def _memory() -> Iterator[str]:
    content = _read("loop_memory")
    yield "## Memory of a party\n"
    if content is None:
        yield _MISSING
        return
    yield _prose(
        f"On {_place(content)}. A party in a process of its own, float32 values, protection lattice at 16 bits. The",
        "state that the party's own code brings is once the update; the peak is what comes on top of it and of all",
        "else that the process held before. Allowed for that: twice the update and 200 MiB.",
    )
    head = ("values", "update, MiB", "held before, MiB", "peak on top, MiB", "allowed, MiB")
    yield from _table(
        head,
        [
            [
                _text(row["values"]),
                _text(row["update MiB"]),
                _text(row["before MiB"]),
                _text(max(value for name, value in row.items() if name.endswith("peak above it"))),
                _text(row["allowed"]),
            ]
            for row in content["rows"]
        ],
    )


_MISSING = "Not measured yet."


def _prose(*lines: str) -> str:
    return textwrap.fill(" ".join(lines), 118, break_on_hyphens=False, break_long_words=False) + "\n"


def _cells(row: Row) -> list[str]:
    up = row.get("upload_bytes")
    return [_number(row.get("total_s")) or str(row.get("missing", "")), "" if up is None else _megabytes(up)]


def _read(name: str) -> dict[str, Any] | None:
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def _place(content: Row) -> str:
    machine = content["machine"]
    return f"{machine['cpu']}, {machine['cores']} cores, {content['date'][:10]}, Hekat {machine['hekat']}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _text(value: object) -> str:
    return (
        "" if value is None else f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    )


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f}" if size >= 1e8 else f"{size / 1e6:.3g}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def main(write: Callable[[str], object] = lambda text: PAGE.write_text(text, encoding="utf-8")) -> None:
    """Write the page."""
    write(render())


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
