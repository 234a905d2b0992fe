"""The page of selective sums, sensitivity maps, noise and differential privacy, from the results of their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pages.markdown import table_head, table_line

NAMES = ("selective", "read-large", "sensitivity", "noise", "privacy")
MOST_POINTS, MOST_MODELS = 1.0, 3.0
MOST_MAP_S = {"LeNet": 2.0, "ResNet-18": 300.0}
LEAST_RATES = {"ifma": 60.0, "portable": 20.0}

Content = Mapping[str, Any]
Row = Mapping[str, Any]


def render_privacy(
    contents: Mapping[str, Content | None], attacks: Content | None, place: Callable[[Any], str]
) -> list[str]:
    """The page's lines; `place` names processor, cores and date of one file's content."""
    missing = [f"`{name}`" for name in NAMES if contents[name] is None]
    lines = [f"**Not measured yet**: {', '.join(missing)}. `make bench-privacy` does it.", ""] if missing else []
    found = {name: content for name, content in contents.items() if content is not None}
    aims = [line for name, content in found.items() for line in _AIMS[name](content["rows"])]
    if aims:
        lines += ["## To reach", "", *table_head(["work", "measured", "to reach", "met"]), *aims, ""]
    if "selective" in found:
        read = {row["masked"]: row for row in found.get("read-large", {"rows": ()})["rows"]}
        lines += _selective(found["selective"]["rows"], place(found["selective"]), attacks, read)
    for name, render in (("sensitivity", _maps), ("noise", _noise), ("privacy", _beside_central)):
        if name in found:
            lines += render(found[name]["rows"], place(found[name]))
    return lines


def _selective(rows: Sequence[Row], place: str, attacks: Content | None, read: Mapping[float, Row]) -> list[str]:
    scores = {} if attacks is None else _picture_scores(attacks["rows"])
    lines = [
        "## A part of an update masked",
        "",
        f"On {place}: one sum of {rows[0]['values']:,} float32 values (ResNet-50), 16 bits a value, five parties; "
        "seconds are CPU seconds of all threads, medians. Dealing, sealing and sending come on top and do not depend "
        "on the mask. A party sends once and reads once a round; the aggregator adds the uploads of all and writes the "
        "sum once. Every mean was held against the mean of the sum that is masked whole: bit for bit the same.",
        "",
    ]
    if read:
        lines += [
            "*Labels* and *inputs* are what the attacker who knows the mask reads, without any search, of this "
            f"ResNet-50's updates: the label of each of {next(iter(read.values()))['updates']} pictures, of 1,000 "
            "classes, and the "
            "share of the 2,048 inputs of the last layer, in the mean. The map is `random`, of 16 other pictures.",
            "",
        ]
    if scores:
        lines += [
            "*Picture*: SSIM, ship / cat, of what [the same attacker](attacks.md) reads of one picture's update of "
            "DLG's LeNet at that share, by an `exact` map; 1 is the picture. That is a search, and was not tried at "
            "ResNet-50's size.",
            "",
        ]
    head = ["masked", "up, MB", "to float32", "down, MB", "party sends, s", "aggregator adds an upload, s"]
    lines += table_head([*head, "writes the sum, s", "party reads, s", "labels", "inputs", "picture"])
    for row in rows:
        seconds = (f"{row[name]:.2f}" for name in ("send_s", "add_s", "write_s", "read_s"))
        sizes = (f"{row['upload_mb']:.1f}", f"{row['to_float32']:.2f}", f"{row['download_mb']:.1f}")
        share = row["masked"] or 0.0
        told = _told(read[share]) if share in read else ("", "")
        lines.append(table_line(_share(row["masked"]), *sizes, *seconds, *told, scores.get(share, "")))
    return [*lines, ""]


def _told(row: Row) -> tuple[str, str]:
    """Labels read and, were there any, those read wrongly; inputs read."""
    wrong = f", {row['labels_wrong']} wrong" if row["labels_wrong"] else ""
    return f"{row['labels_read']} of {row['updates']}{wrong}", f"{100 * row['inputs_read']:.0f}%"


def _share(masked: float | None) -> str:
    """What the first column says: float32 in NumPy, without Hekat, has no share."""
    if masked is None:
        return "plain float32, NumPy"
    return "**all, the default**" if masked == 1 else f"{masked:g}"


def _picture_scores(rows: Sequence[Row]) -> dict[float, str]:
    """SSIM of every picture by the share that a map chose, against the adaptive attacker."""
    shares = {"none": 0.0, "all": 1.0} | {f"{share:g} by map": share for share in (0.1, 0.3, 0.5)}
    found: dict[float, list[str]] = {}
    for row in rows:
        if row["part"] == "picture" and row["attacker"] == "adaptive" and row["mask"] in shares:
            score = f"{row['ssim']:.2f}" if "ssim" in row else "nothing visible"
            found.setdefault(shares[row["mask"]], []).append(score)
    return {share: " / ".join(dict.fromkeys(some) if share == 1 else some) for share, some in found.items()}


def _maps(rows: Sequence[Row], place: str) -> list[str]:
    lines = [
        "## Sensitivity maps",
        "",
        f"On {place}, one thread, untrained networks, rows of noise. Rows are taken until 95 % of the largest tenth "
        "stay the same, or all are used. Memory is the most that PyTorch's allocator holds during a map beside the "
        "model, in models' sizes: one row's activations are in it. `exact` goes back once for each class and row; "
        "where no seconds stand, memory alone was measured.",
        "",
        *table_head(
            ["network", "weights", "input", "classes", "map", "rows", "of the largest tenth stay", "CPU s", "held"]
        ),
    ]
    for row in rows:
        stays = "" if row["overlap"] is None else f"{100 * row['overlap']:.0f}%"
        side = f"{row['side']} x {row['side']}"
        cells = (f"{row['parameters']:,}", side, row["classes"], f"`{row['mode']}`", row["rows"], stays)
        seconds = "" if row["cpu_s"] is None else f"{row['cpu_s']:.2f}"
        lines.append(table_line(row["net"], *cells, seconds, f"{row['models_held']:.1f} models"))
    return [*lines, ""]


def _noise(rows: Sequence[Row], place: str) -> list[str]:
    lines = [
        "## Exact noise",
        "",
        f"On {place}: discrete Gaussian numbers, one thread, beside NumPy's normal numbers rounded to whole ones, "
        "which are not exact, in turns. Every path and the reference draw the same numbers.",
        "",
        *table_head(["path", "what", "ms", "million a second", "NumPy's time over it"]),
    ]
    for row in rows:
        cells = (row["what"], f"{row['ms']:.1f}", f"{row['millions_a_second']:.0f}", f"{row['times_numpy']:.2f}")
        lines.append(table_line(f"`{row['path']}`", *cells))
    return [*lines, ""]


def _beside_central(rows: Sequence[Row], place: str) -> list[str]:
    lines = [
        "## Differential privacy beside central DP-SGD",
        "",
        f"On {place}: logistic regression, 100 rounds of secret coins of 0.05, delta 10^-5, accuracy of the test rows "
        f"in per cent, mean of {rows[0]['seeds']} seeds and in brackets their standard deviation. A job's epsilon is "
        "the proved one against any party by itself; central DP-SGD has all rows in one place and the least noise that "
        "loss distributions allow. *z* is the deviation of all noise in a sum over the clip.",
        "",
        *table_head(
            ["rows", "epsilon", "job", "central", "points apart", "no noise", "z, job", "z, central", "job, CPU s"]
        ),
    ]
    for row in rows:
        scores = (f"{row[name]:.2f} ({row[f'{name}_spread']:.2f})" for name in ("shared", "central"))
        tail = (f"{row['noise_shared']:.3f}", f"{row['noise_central']:.3f}", f"{row['job_cpu_s']:.1f}")
        rows_of = f"{row['data']}, {row['rows']:,} of {row['parties']} parties"
        lines.append(
            table_line(rows_of, f"{row['epsilon']:g}", *scores, f"{row['points']:+.2f}", f"{row['exact']:.2f}", *tail)
        )
    return [*lines, ""]


def _aims_of_maps(rows: Sequence[Row]) -> list[str]:
    lines = []
    for row in rows:
        what = f"`{row['mode']}` map of {row['net']}, {row['side']} x {row['side']}"
        most = MOST_MAP_S[row["net"]]
        if row["cpu_s"] is not None:
            lines.append(_aim(what, f"{row['cpu_s']:.2f} s", f"at most {most:g} s", row["cpu_s"] <= most))
        held = 1 + row["models_held"]
        shown = f"{held:.1f} times the model, itself one of them"
        lines.append(_aim(f"{what}, memory", shown, f"at most {MOST_MODELS:g}", held <= MOST_MODELS))
    return lines


def _aims_of_noise(rows: Sequence[Row]) -> list[str]:
    lines = []
    for path, least in LEAST_RATES.items():
        rates = [row["millions_a_second"] for row in rows if row["path"] == path]
        if rates:
            shown = f"{min(rates):.0f} to {max(rates):.0f} million a second"
            lines.append(_aim(f"exact noise, path `{path}`", shown, f"at least {least:g} million", min(rates) >= least))
    return lines


def _aims_of_central(rows: Sequence[Row]) -> list[str]:
    return [
        _aim(
            f"{row['data']}, epsilon {row['epsilon']:g}, beside central DP-SGD",
            f"{row['points']:+.2f} points",
            f"at most {MOST_POINTS:g} point below",
            row["points"] >= -MOST_POINTS,
        )
        for row in rows
    ]


_AIMS: Mapping[str, Callable[[Sequence[Row]], list[str]]] = {
    "selective": lambda rows: [],
    "read-large": lambda rows: [],
    "sensitivity": _aims_of_maps,
    "noise": _aims_of_noise,
    "privacy": _aims_of_central,
}


def _aim(what: str, measured: str, aim: str, is_met: bool) -> str:
    return table_line(what, measured, aim, "yes" if is_met else "**missed**")
