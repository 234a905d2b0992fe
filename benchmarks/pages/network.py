"""The figures of runs between processes and over engines, from results/network-NAME.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.scheme.lattice import choose_parameters
from pages.markdown import table_head, table_line

Contents = Mapping[str, dict[str, Any] | None]

PARTS = ("many", "rounds", "links", "vertical-links", "nvflare-mnist", "nvflare-large", "nvflare-vertical", "flower")
IMAGE = "network-links.svg"
WAYS = {
    "hekat": "Hekat, `lattice`",
    "plain": "plain float32",
    "tenseal": "TenSEAL, as NVIDIA FLARE sends it",
    "paillier": "Hekat, `paillier` in BatchCrypt's form",
    "secaggplus": "Flower's SecAgg+",
}
APPS = {
    "plain": "plain, the engine's own",
    "protected": "the same app, protected",
    "job": "as a Hekat job",
    "one process": "as a Hekat job, all roles in one process",
}
# BatchCrypt (ATC 2020), Table 4: GB to convergence of nine clients, by FATE as it was, its batches, and in the clear.
TRAFFIC_CLIENTS = 9
TRAFFIC_GB = {"FC": (2228.3, 58.7, 11.17), "AlexNet": (16422.0, 227.8, 11.39), "LSTM": (15347.3, 175.9, 10.4)}
# An assumption, and no figure of the paper's: what large clouds ask for a GB that leaves them to the internet.
DOLLARS_A_GB = 0.09


def render_network(contents: Contents, place_of: Any) -> list[str]:
    """The page's lines; `place_of` names processor, cores and date of one content."""
    lines = ["## To reach", "", *_aims(contents, place_of), ""]
    for name, render in _SECTIONS.items():
        content = contents.get(name)
        if content is not None:
            lines += [*render(content, place_of(content)), ""]
    missing = [f"`{name}`" for name in PARTS if contents.get(name) is None]
    if missing:
        lines += [f"**Not measured yet**: {', '.join(missing)} of `benchmarks/bench_network.py`.", ""]
    return [*lines, *_ELSEWHERE]


def _aims(contents: Contents, place_of: Any) -> list[str]:
    """Every aim beside what was measured; an aim that was missed says so."""
    table = table_head(["work", "aim", "measured", "reached", "on"])
    for name, describe in _AIMS.items():
        content = contents.get(name)
        for cells in [] if content is None else describe(content):
            *shown, reached = cells
            table.append(table_line(*shown, "yes" if reached else "**missed**", place_of(content)))
    return table


def _aims_of_many(content: dict[str, Any]) -> list[tuple[Any, ...]]:
    row = content["rows"][0]
    work = f"{row['parties']} parties over mailboxes, {row['values']:,} values, {row['dropped_out']} lost: a right sum"
    aim, found = f"aggregator of at most {row['to_reach_mib']:,} MiB", f"{row['aggregator_peak_mib']:,} MiB"
    return [(work, aim, found, row["reached"])]


def _aims_of_rounds(content: dict[str, Any]) -> list[tuple[Any, ...]]:
    worst = max(content["rows"], key=lambda row: row["growth"])
    work = f"{content['rounds']} rounds: memory of every role"
    found = f"{worst['growth']:+.1%} at most ({worst['role']})"
    return [(work, f"within {worst['to_reach']:.0%}", found, worst["reached"])]


def _aims_of_mnist(content: dict[str, Any]) -> list[tuple[Any, ...]]:
    aims: list[tuple[Any, ...]] = []
    for row in content["rows"]:
        if "times_plain" not in row:
            continue
        work = f"NVIDIA FLARE, {content['sites']} sites, MNIST's dense network, {APPS[row['way']]}, over plain, a round"
        aims.append((work, f"{row['to_reach']:g} times", f"{row['times_plain']:.2f} times", row["reached"]))
        if "up_of_float32" in row:
            most = max(row["up_of_float32"], row["down_of_float32"])
            found = f"{row['up_of_float32']:.2f} up, {row['down_of_float32']:.2f} down"
            limit = content["bytes_to_reach"]
            aims.append(("the same: a party's bytes of plain float32", f"{limit:g} up and down", found, most <= limit))
    return aims


def _aims_of_large(content: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (
            f"NVIDIA FLARE, {row['values']:,} values, {APPS[row['way']]}, a round",
            f"{row['to_reach_s']:g} s",
            f"{row['round_s']:.2f} s",
            row["reached"],
        )
        for row in content["rows"]
        if "to_reach_s" in row
    ]


def _aims_of_vertical(content: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (
            f"NVIDIA FLARE, set intersection and regression by columns, {row['rows']:,} x {row['columns']}, form "
            f"`{row['form']}`, over one process",
            f"{row['to_reach']:g} times",
            f"{row['times_one_process']:.2f} times",
            row["reached"],
        )
        for row in content["rows"]
    ]


def _aims_of_flower(content: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (
            f"Flower, {content['sites']} SuperNodes, encrypted over plain, a round",
            f"{row['to_reach']:g} times",
            f"{row['times_plain']:.2f} times",
            row["reached"],
        )
        for row in content["rows"]
        if "times_plain" in row
    ]


_AIMS = {
    "nvflare-mnist": _aims_of_mnist,
    "nvflare-large": _aims_of_large,
    "nvflare-vertical": _aims_of_vertical,
    "flower": _aims_of_flower,
    "many": _aims_of_many,
    "rounds": _aims_of_rounds,
}


def _links(content: dict[str, Any], place: str) -> list[str]:
    lines = [
        "## Over links",
        "",
        f"On {place}: {content['parties']} parties and an aggregator as processes, each with a link of its own of the "
        "stated speed both ways, the aggregator too; BatchCrypt's three models by their tensors, made-up updates. All "
        "ways go over the same mailboxes and links, and every mean is checked. Shaping: "
        f"{content['shaping']}. Seconds a round are the median after a first round, or of one round where it is long; "
        "they hold no local training. TenSEAL has the parameters of the engine's HEBuilder, one key for all, each "
        "tensor with its context.",
        "",
        f"![Seconds a round by link and way](images/{IMAGE})",
        "",
    ]
    links = list(dict.fromkeys(row["link"] for row in content["rows"]))
    for model in dict.fromkeys(row["model"] for row in content["rows"]):
        rows = [row for row in content["rows"] if row["model"] == model]
        lines += [f"**{model}**, {rows[0]['values']:,} values:", ""]
        lines += table_head(["way", *links, "a party up", "of float32", "down", "of float32"])
        for way in dict.fromkeys(row["way"] for row in rows):
            own = {row["link"]: row for row in rows if row["way"] == way}
            last = next(iter(own.values()))
            cells = [_seconds(own[link]["round_s"]) if link in own else "" for link in links]
            sizes = [_megabytes(last["up_bytes"]), f"{last['up_of_float32']:.2f}"]
            sizes += [_megabytes(last["down_bytes"]), f"{last['down_of_float32']:.2f}"]
            lines.append(table_line(WAYS[way], *cells, *sizes))
        lines.append("")
    lines += [*_left_out(content["left_out"]), *_missing(content["missing"])]
    return [*lines, *_shares(content["rows"]), *_dollars(content["rows"])]


def _vertical_links(content: dict[str, Any], place: str) -> list[str]:
    """FLASH's axis: an iteration by bandwidth, protected and not."""
    rows = content["rows"]
    links = list(dict.fromkeys(row["link"] for row in rows))
    lines = [
        "## Regression by columns over links",
        "",
        f"Seconds an iteration, a batch of {content['batch_rows']:,} rows with 13 columns at the guest and 10 at the "
        f"host, by bandwidth, as FLASH's Fig. 11b has it; on {place}, every role a process with a link of its own, "
        f"{content['data_rows']:,} made-up rows, mean of the two epochs after the first; in brackets, times the same "
        f"messages in the clear. Losses are the same to six digits, and to 1e-4 by the check. "
        f"Shaping: shaping relay; {content['shaping']}.",
        "",
        *table_head(["way", *links, "a run's bytes from guest and host"]),
    ]
    for form, kind in dict.fromkeys((row["form"], row["kind"]) for row in rows):
        own = {row["link"]: row for row in rows if (row["form"], row["kind"]) == (form, kind)}
        times = {link: f" ({row['times_plain']:.1f})" if "times_plain" in row else "" for link, row in own.items()}
        cells = [f"{own[link]['iteration_s']:.3f} s{times[link]}" for link in links]
        lines.append(table_line(f"`{form}, {kind}`", *cells, _megabytes(own[links[0]]["sent_bytes"])))
    return lines


def _left_out(rows: list[dict[str, Any]]) -> list[str]:
    """What was foreseen to take too long a round, by its bytes or by what it computes."""
    if not rows:
        return []
    named = []
    for way in dict.fromkeys(row["way"] for row in rows):
        own = [row for row in rows if row["way"] == way]
        for model in dict.fromkeys(row["model"] for row in own):
            links = [f"{row['link']} (about {row['round_at_least_s']:,} s)" for row in own if row["model"] == model]
            named.append(f"{WAYS[way]}, {model}: {', '.join(links)}")
    return ["Left out, for the seconds that a round was foreseen to take: " + "; ".join(named) + ".", ""]


def _missing(ways: list[str]) -> list[str]:
    return [f"Not measured beside them: {'; '.join(ways)}.", ""] if ways else []


def _shares(rows: list[dict[str, Any]]) -> list[str]:
    """FedML-HE's axis: what part of a round is the link's."""
    fastest = {(row["model"], row["way"]): row["round_s"] for row in rows if row["link"] == "loopback"}
    links = [link for link in dict.fromkeys(row["link"] for row in rows) if link != "loopback"]
    kept = [way for way in WAYS if any(row["way"] == way for row in rows)]
    if not fastest or not links:
        return []
    lines = [
        "What part of a round is the link's, the round over loopback taken off; FedML-HE's Fig. 12 shows this for its "
        "ResNet-50, local training within the whole, at 5 GB/s, 592 MB/s and 15.6 MB/s:",
        "",
        *table_head(["model", "way", *links]),
    ]
    for model in dict.fromkeys(row["model"] for row in rows):
        for way in kept:
            own = {row["link"]: row["round_s"] for row in rows if (row["model"], row["way"]) == (model, way)}
            if (model, way) in fastest and len(own) > 1:
                parts = [max(0.0, 1 - fastest[model, way] / own[link]) if link in own else None for link in links]
                lines.append(table_line(model, WAYS[way], *("" if part is None else f"{part:.0%}" for part in parts)))
    return [*lines, ""]


def _dollars(rows: list[dict[str, Any]]) -> list[str]:
    """BatchCrypt's traffic to convergence, as its Table 4 has it, beside ours for as many rounds as its plain run."""
    ours = {row["model"].partition(",")[0] for row in rows if row["way"] == "hekat"}
    bits = choose_parameters(16, TRAFFIC_CLIENTS)
    of_float32 = (bits.upload_bits + bits.download_bits) / 64
    known = [model for model in TRAFFIC_GB if model in ours]
    if not known:
        return []
    lines = [
        f"BatchCrypt's traffic in dollars, at {DOLLARS_A_GB:g} dollars a GB (an assumption of this page: multiply by "
        "your own price). GB of FATE, BatchCrypt and plain training are the paper's own (Table 4, nine clients, to "
        "convergence). Hekat's are projected: the paper's plain GB times the bits that nine parties send and take for "
        f"a value, {bits.upload_bits:g} and {bits.download_bits:g} in place of 32, for as many rounds as plain "
        "training took; shares and seals are not in it.",
        "",
        *table_head(["model", "FATE", "BatchCrypt", "plain", "Hekat, projected", "less than FATE"]),
    ]
    for model in known:
        stock, batch, plain = TRAFFIC_GB[model]
        projected = plain * of_float32
        cells = [f"{gb:,.1f} GB, ${gb * DOLLARS_A_GB:,.2f}" for gb in (stock, batch, plain, projected)]
        lines.append(table_line(model, *cells, f"{1 - projected / stock:.2%}"))
    return [*lines, "", "BatchCrypt says 97.4 %, 98.6 % and 98.8 % less than FATE (section 6.5).", ""]


def _mnist(content: dict[str, Any], place: str) -> list[str]:
    return [
        "## Over NVIDIA FLARE",
        "",
        f"On {place}: {content['engine']}, {content['sites']} sites as processes of its simulator in "
        f"{content['network']}, the same rows, first weights and local steps on both sides. "
        "Right is the part of MNIST's test images that the last model labels rightly. "
        "Rounds hold local training, on one thread in each process. Bytes are all that passed the loopback in a round, "
        "with headers; processor time is of all processes.",
        "",
        *_engine_table(content["rows"]),
    ]


def _large(content: dict[str, Any], place: str) -> list[str]:
    return [
        f"**{content['rows'][0]['values']:,} values**, on {place}, ten rows a site:",
        "",
        *_engine_table(content["rows"]),
    ]


def _vertical(content: dict[str, Any], place: str) -> list[str]:
    lines = [
        f"**Set intersection and regression by columns**, on {place}, from a run's start to its end at the guest, in "
        "turns with the same job in one process; losses are equal:",
        "",
        *table_head(["data", "form", "epochs", "over the engine", "one process", "times"]),
    ]
    for row in content["rows"]:
        data = f"{row['data']}, {row['rows']:,} x {row['columns']}"
        seconds = (_seconds(row["engine_s"]), _seconds(row["one_process_s"]))
        lines.append(table_line(data, f"`{row['form']}`", row["epochs"], *seconds, f"{row['times_one_process']:.2f}"))
    return lines


def _flower(content: dict[str, Any], place: str) -> list[str]:
    return [
        "## Over Flower",
        "",
        f"On {place}: {content['engine']}, a SuperLink and {content['sites']} SuperNodes on one machine, one app plain "
        "and with Hekat's mod and strategy; train and evaluate in each round.",
        "",
        *_engine_table(content["rows"]),
    ]


def _engine_table(rows: list[dict[str, Any]]) -> list[str]:
    named = ["right"] if any("right_share" in row for row in rows) else []
    table = table_head(["run", "a round", "over plain, median of turns", "processor", "bytes passed", "rounds", *named])
    for row in rows:
        right = [f"{row['right_share']:.2%}" for _ in named]
        times = f"{row['times_plain']:.2f}" if "times_plain" in row else ""
        passed = _megabytes(row["passed_bytes"]) if row.get("passed_bytes") else ""
        processor = _seconds(row["processor_s"])
        table.append(
            table_line(
                APPS[row["way"]], _seconds(row["round_s"]), times, processor, passed, f"{row['rounds']:g}", *right
            )
        )
    return table


def _many(content: dict[str, Any], place: str) -> list[str]:
    row = content["rows"][0]
    rounds = ", ".join(_seconds(seconds) for seconds in row["round_s"])
    return [
        "## Many parties, many rounds",
        "",
        f"{row['parties']} parties as processes over mailboxes, on {place}: {row['values']:,} values; "
        f"{row['dropped_out']} end before they upload in round 2. Rounds of {rounds}; aggregator "
        f"{row['aggregator_peak_mib']:,} MiB, a party {row['party_peak_mib']:,} MiB at most.",
    ]


def _rounds(content: dict[str, Any], place: str) -> list[str]:
    count = content["rounds"]
    lines = [
        f"{count} rounds of four parties, 100,000 values, on {place}, {_seconds(content['round_s'])} a round; resident "
        "memory:",
        "",
        *table_head(["role", f"after round {count // 10}", f"after round {count}", "growth"]),
    ]
    for row in content["rows"]:
        sizes = (f"{row['early_mib']:g} MiB", f"{row['late_mib']:g} MiB")
        lines.append(table_line(row["role"], *sizes, f"{row['growth']:+.1%}"))
    return lines


_SECTIONS = {
    "links": _links,
    "vertical-links": _vertical_links,
    "nvflare-mnist": _mnist,
    "nvflare-large": _large,
    "nvflare-vertical": _vertical,
    "flower": _flower,
    "many": _many,
    "rounds": _rounds,
}

_ELSEWHERE = [
    "## Known elsewhere",
    "",
    "FLASH's Fig. 11b: an iteration of regression by columns takes the same time at 50 Mbit/s and more, encrypted on "
    "a processor and on its board alike; its board is about three times as fast. FedML-HE's Fig. 12: encryption costs "
    "most where links are slow. Their figures are their own, of other machines.",
    "",
    "All processes of these runs share one machine's cores, its memory and its loopback: no run has crossed a network "
    "between two machines.",
]


def _seconds(seconds: float) -> str:
    if seconds >= 100:
        return f"{seconds:,.0f} s"
    return f"{seconds:.1f} s" if seconds >= 10 else f"{seconds:.2f} s"


def _megabytes(count: float) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 1e5 else f"{count / 1e3:,.0f} kB"
