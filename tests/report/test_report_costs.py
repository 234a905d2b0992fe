"""Bits against accuracy, time and bytes by step and role, clipping by tensor: what is drawn and told of each."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hekat.errors import StateError
from hekat.report import load_summary, terminal_findings, terminal_tables
from hekat.report.horizontal.by_role import MOST_ROLES, byte_step_table, kind_seconds, way_bytes
from hekat.report.horizontal.clipping import clip_table
from hekat.report.horizontal.page import render_page
from hekat.report.horizontal.plot_clipping import plot_clipping
from hekat.report.horizontal.plot_precision import plot_precision
from hekat.report.horizontal.plots_by_role import plot_role_bytes, plot_role_time
from hekat.report.horizontal.precision_sweep import compared_metric, plain_value, precision_sentence, precision_table
from hekat.report.horizontal.tables import role_byte_table
from hekat.report.page.drawing import shorten_names

LONG = "encoder.layers.{}.self_attention.output_projection.weight"


def with_costs(summary: dict[str, Any], tensors: int = 3) -> dict[str, Any]:
    """The sample as a run of this release leaves it, with three numbers of bits."""
    changed = copy.deepcopy(summary)
    changed["settings"]["value_bits"] = 16
    plain = next(result["metrics"] for result in changed["results"] if result["kind"] == "plain")
    own = changed["results"][-1]["metrics"]
    changed["compared_bits"] = [
        {
            "value_bits": bits,
            "metrics": dict(metrics),
            "validation": {},
            "loss": 0.1,
            "convergence_bias": bias,
            "update_sealed": 1000 * bits,
            "bits_per_value_up": bits + 7.0,
            "clipped": {"count": clipped, "of": 3100},
        }
        for bits, metrics, bias, clipped in (
            (4, {**plain, "accuracy": plain["accuracy"] - 0.1}, 0.02, 31), (16, own, 0.0, 0), (32, plain, 1e-6, 0),
        )
    ]  # fmt: skip
    rounds = list(range(1, 21))
    changed["clipped_by_tensor"] = {
        "rounds": rounds,
        "tensors": [
            {"name": LONG.format(n), "clipped": [n] * 20, "of": [100] * 20, "bound": [2.0**-r for r in rounds]}
            for n in range(tensors)
        ],
        "others": {"tensors": 5, "clipped": [1] * 20, "of": [50] * 20},
    }
    step = {"up": 100, "down": 200, "shares_out": 300, "shares_in": 400}
    for found in changed["bytes"]["by_role"].values():
        found["by_step"] = {"session": dict(step), "sums": dict(step)}
    return changed


@pytest.fixture
def costs(sample: dict[str, Any]) -> dict[str, Any]:
    return with_costs(sample)


PLOTS = {"bits": plot_precision, "clipping": plot_clipping, "role-time": plot_role_time, "role-bytes": plot_role_bytes}


@pytest.mark.long
@pytest.mark.filterwarnings("error")
def test_all_four_are_on_the_page_and_the_terminal(costs, run_folder: Callable[[Any], Path]) -> None:
    summary = load_summary(run_folder(costs))
    page = render_page(summary)
    for title in ("Bits against accuracy", "Clipped values by tensor", "Bytes of the whole run, by step"):
        assert f"<caption>{title}</caption>" in page
    for name in PLOTS:
        assert f'id="{name}-0"' in page
    titles = [table.title for table in terminal_tables(summary)]
    assert {"Bits against accuracy", "Clipped values by tensor"} <= set(titles)
    assert precision_sentence(summary) in terminal_findings(summary)[0].lines
    drawn = "".join(re.findall(r"<svg .*?</svg>", page, flags=re.DOTALL))
    assert re.findall(r"#0[0-9a-f]0[0-9a-f]0[0-9a-f]\b", drawn) == []
    used = set(re.findall(r"var\(--([\w-]+)\)", drawn))
    for theme in page.split("<style>")[1].split("</style>")[0].split("--page:")[1:]:  # light, dark, paper
        assert used <= set(re.findall(r"--([\w-]+):", "--page:" + theme.split("}")[0]))


@pytest.mark.filterwarnings("error")
def test_a_summary_of_an_older_release_has_none_of_them(variant: dict[str, Any]) -> None:
    assert precision_table(variant) is None
    assert plot_precision(variant) is None
    assert clip_table(variant) is None
    assert plot_clipping(variant) is None
    assert byte_step_table(variant) is None
    assert plot_role_bytes(variant) is None
    assert "How many bits a value needs" not in render_page(variant)
    assert role_byte_table(variant).columns == ("role", "sent", "received")


def test_bits_are_shown_beside_plain_and_the_jobs_own_are_named(costs) -> None:
    table = precision_table(costs)
    assert table is not None
    assert [row[0] for row in table.rows] == ["4", "16 (job)", "32", "plain"]
    assert table.rows[0][2:4] == ("−10.0 points", "2%")
    assert [row[3] for row in table.rows] == ["2%", "0%", "< 0.001%", ""]
    assert [row[6] for row in table.rows] == ["1%", "none", "none", ""]
    found = "With 16 bits per value the accuracy on the common test set is 95.8%, as without encryption."
    assert precision_sentence(costs) == found


@pytest.mark.long
def test_the_metric_is_the_next_best_known(costs) -> None:
    assert compared_metric(costs) == ("metrics", "accuracy")
    for item in costs["compared_bits"]:
        item |= {"metrics": {}, "validation": {"rows": 9, "log_loss": 0.3}}
    assert compared_metric(costs) == ("validation", "log_loss")
    assert plain_value(costs) is None
    for item in costs["compared_bits"]:
        item["validation"] = {}
    assert compared_metric(costs) == ("", "loss")
    assert plain_value(costs) == costs["rounds"]["plain"][-1]["loss"]
    assert precision_table(costs).title == "Bits against training loss"
    assert plot_precision(costs) is not None


@pytest.mark.filterwarnings("error")
def test_without_a_plain_run_bits_are_compared_with_each_other(costs) -> None:
    costs["results"] = [result for result in costs["results"] if result["kind"] != "plain"]
    del costs["rounds"]["plain"]
    for item in costs["compared_bits"]:
        item["convergence_bias"] = None
    assert [row[2:4] for row in precision_table(costs).rows] == [("–", "–")] * 3
    assert precision_sentence(costs) is None
    assert plot_precision(costs) is not None


def test_no_number_of_bits_as_good_as_plain_is_said_so(costs) -> None:
    for item in costs["compared_bits"]:
        item["metrics"]["accuracy"] = 0.5
    assert precision_sentence(costs).startswith("None of these numbers of bits gives the accuracy 95.8%")


def test_clipping_is_told_by_tensor_with_the_others_together(costs) -> None:
    table = clip_table(costs)
    assert table is not None
    assert [row[1:4] for row in table.rows] == [
        ("2,000", "none", "–"),
        ("2,000", "20", "1%"),
        ("2,000", "40", "2%"),
        ("1,000", "20", "2%"),
    ]
    assert table.rows[-1][0] == "5 other tensors"
    assert table.rows[1][5:] == ("0.500", "9.54 × 10⁻⁷")


@pytest.mark.long
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("tensors", [1, 6, 12])
def test_many_tensors_and_one_round_are_drawn(tensors, sample) -> None:
    summary = with_costs(sample, tensors)
    assert plot_clipping(summary).count("<svg") == 1
    history = summary["clipped_by_tensor"]
    history["rounds"] = [7]
    for part in (*history["tensors"], history["others"]):
        part |= {"clipped": [0], "of": [0], "bound": [0.0]}
    assert plot_clipping(summary) is not None


def test_long_names_are_told_apart_by_what_differs() -> None:
    names = [LONG.format(number) for number in (3, 12)]
    shown = shorten_names(names, longest=44)
    assert shown == ["…3.self_attention.output_projection.weight", "…12.self_attention.output_projection.weight"]
    assert shorten_names(names, longest=20) == ["…3…", "…12…"]
    assert shorten_names(["a$b", "c"], longest=9) == [r"a\$b", "c"]
    (alone,) = shorten_names(["x" * 50 + "end"], longest=20)
    assert len(alone) == 20
    assert alone.endswith("end")
    assert shorten_names([], longest=5) == []


def test_of_many_roles_the_largest_have_bars_of_their_own(costs) -> None:
    costs["parties"] = [{"name": f"bank-{n}", "rows": 9, "class_rows": None} for n in range(100)]
    hub = costs["settings"]["aggregator"]
    parties = {f"bank-{n}": {"train": float(n), "send": 1.0} for n in range(100)}
    costs["seconds_by_role"] = {**parties, hub: {"open": 3.0}}
    found = kind_seconds(costs)
    assert len(found) <= MOST_ROLES
    assert list(found) == [*(f"bank-{n}" for n in range(92, 100)), "mean of 92 other parties", hub]
    assert found["mean of 92 other parties"]["train"] == sum(range(92)) / 92
    assert found[hub] == {"train": 0.0, "protect": 0.0, "message": 3.0}


def test_kinds_of_steps_add_up_to_a_roles_seconds(sample) -> None:
    for role, kinds in kind_seconds(sample).items():
        assert sum(kinds.values()) == pytest.approx(sum(sample["seconds_by_role"][role].values()))


def test_bytes_by_step_and_by_role_are_sums(costs) -> None:
    table = byte_step_table(costs)
    assert table is not None
    assert table.rows[-1] == ("all steps", "", "1 kB", "2 kB", "3 kB", "4 kB")  # five parties, two steps
    ways = way_bytes(costs)
    hub = costs["settings"]["aggregator"]
    assert ways["county"] == {"up": 200, "down": 400, "shares_out": 600, "shares_in": 800}
    assert ways[hub]["up"] == costs["bytes"]["by_role"][hub]["received"]
    rows = {row[0]: row for row in role_byte_table(costs).rows}
    assert rows["county"][3:] == ("200 B", "400 B", "600 B", "800 B")
    assert rows[hub][3:] == ("–",) * 4


@pytest.mark.parametrize(
    ("spoil", "place"),
    [
        (lambda s: s["compared_bits"][0].pop("loss"), r"compared_bits\[0\]\.loss"),
        (lambda s: s["compared_bits"][1].update(convergence_bias=-1), r"compared_bits\[1\]\.convergence_bias"),
        (lambda s: s["clipped_by_tensor"]["rounds"].pop(), "one number for each round"),
        (lambda s: s["clipped_by_tensor"]["tensors"][0]["clipped"].append(3), "one number for each round"),
        (lambda s: s["clipped_by_tensor"]["others"].pop("of"), r"others\.of"),
        (lambda s: s["bytes"]["by_role"]["county"]["by_step"]["sums"].pop("up"), r"by_step\.sums\.up"),
    ],
)
def test_a_damaged_summary_is_refused_by_its_place(spoil, place, costs, run_folder) -> None:
    spoil(costs)
    with pytest.raises(StateError, match=place):
        load_summary(run_folder(costs))


@pytest.mark.long
def test_names_stay_text(costs) -> None:
    hostile = '<script>alert("x")</script>&$a_1$\\frac{'
    costs["clipped_by_tensor"]["tensors"][0]["name"] = hostile
    costs["bytes"]["by_role"]["county"]["by_step"][hostile] = {"up": 1, "down": 1, "shares_out": 1, "shares_in": 1}
    assert "<script" not in render_page(costs)
