"""How reports say whether a training converged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hekat.report import brief_of, load_summary, terminal_findings, verdict
from hekat.report.training_course import course_of, course_sentence, course_warning, has_diverged
from hekat.report.views import render_page
from hekat.summary.convergence import MOST_WEIGHT, describe_convergence

RATE = {"learning_rate": 0.5, "standardise": True}
NETWORK_RATES = {"learning_rate": 0.01, "shared_rate": 0.2, "standardise": False}
SAMPLES = {
    "horizontal": Path(__file__).with_name("sample_summary.json"),
    "vertical": Path(__file__).parent / "vertical_linear" / "sample_shared_summary.json",
}


@pytest.mark.parametrize(
    ("losses", "stopped_early", "told"),
    [
        ([0.5], False, None),
        ([0.5, 0.4995], False, None),
        ([0.5, 0.45, 0.4], True, None),
        (
            [0.5, 0.45, 0.4],
            False,
            "NOT CONVERGED: the training loss was still falling, by 11.1% over the last epoch. More epochs would lower "
            "it further.",
        ),
        (
            [0.5, 0.4, 0.6],
            True,
            "The training loss rose from 0.5000 to 0.6000: set a learning_rate well below 0.5 (0.1 suits standardised "
            "columns).",
        ),
        (
            [0.5, 0.3, 0.4],
            False,
            "The training loss rose from 0.3000 to 0.4000: set a learning_rate well below 0.5 (0.1 suits standardised "
            "columns).",
        ),
        (
            [0.5, 0.4, 1e6],
            False,
            "TRAINING DIVERGED: the loss went from 0.5000 to 1,000,000. The model is of no use, and to resume the "
            "unchanged job cannot help: set a learning_rate well below 0.5 (0.1 suits standardised columns), and begin "
            "a new run.",
        ),
        ([0.0, 0.0], False, None),
    ],
)
def test_what_a_summary_of_any_release_says_of_its_losses(losses, stopped_early, told) -> None:
    """The verdict of an earlier release's summary is drawn from its losses alone."""
    known = {"convergence": describe_convergence(losses, stopped_early=stopped_early)}
    for summary in ({}, known):
        assert course_warning(course_of(summary, losses, stopped_early=stopped_early), "epoch", RATE) == told


def test_a_training_that_converged_says_so() -> None:
    course = course_of({}, [0.6] + [0.4] * 20, stopped_early=False)
    sentence = course_sentence(course, "round", RATE)
    assert sentence is not None
    assert sentence.startswith("Converged after 21 rounds: the last 5 lowered")
    assert course_sentence(course_of({}, [0.5], stopped_early=False), "round", RATE) is None


@pytest.mark.parametrize(
    ("losses", "cure"),
    [
        ([0.5, 0.45, 0.4], "it further, and another shared_rate than 0.2 may: a lower one where the loss swings."),
        ([0.5, 0.3, 0.4], "set a shared_rate well below 0.2, or a lower learning_rate, or standardise the columns."),
        (
            [0.5, 0.4, 1e6],
            "set a shared_rate well below 0.2, or a lower learning_rate, or standardise the columns, and",
        ),
    ],
)
def test_of_a_network_split_by_columns_the_cure_names_the_rate_of_its_shared_layer(losses, cure: str) -> None:
    course = course_of({}, losses, stopped_early=False)
    assert cure in str(course_warning(course, "epoch", NETWORK_RATES))


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("losses", [[0.6] + [0.4] * 20, [0.6, 0.5, 0.4]])
def test_a_brief_says_whether_training_converged(kind: str, losses: list[float]) -> None:
    summary = json.loads(SAMPLES[kind].read_text(encoding="utf-8")) | {"convergence": describe_convergence(losses)}
    brief = brief_of(summary)
    assert ("Converged after 21" in dict(brief.facts)["result"]) == (len(losses) == 21)
    assert any("NOT CONVERGED" in warning for warning in brief.warnings) == (len(losses) == 3)


def test_weights_beyond_reason_are_divergence_by_themselves() -> None:
    """One round: its loss is still the one of the first weights."""
    found = describe_convergence([0.6931], largest_weight=6e8)
    assert found is not None
    assert found["course"] == "diverged"
    assert "a weight is as large as 6.00 × 10⁸" in str(course_warning(found, "round", RATE))
    assert describe_convergence([0.6931], largest_weight=MOST_WEIGHT)["course"] == "too short"
    assert describe_convergence([]) is None


def test_noised_losses_say_how_much_they_hide_and_warn_of_nothing() -> None:
    """As if exact, the first series would have diverged, and the second would be falling by 439 %."""
    for losses in ([0.0332, 0.5284], [0.1, -0.339]):
        course = describe_convergence(losses, untrained=0.6931, noise_std=0.53)
        assert course is not None
        assert course_warning(course, "round", RATE) is None
        assert "not known beside the noise" in str(course_sentence(course, "round", RATE))
        assert "a standard deviation of 0.5300" in str(course_sentence(course, "round", RATE))
        assert not has_diverged({"convergence": course})
    assert has_diverged({"convergence": describe_convergence([0.5, 0.5], largest_weight=6e8, noise_std=0.53)})


def test_a_search_has_no_rate_to_lower() -> None:
    course = describe_convergence([0.5, 4.0])
    assert "cells and labels that lie far from all others" in str(
        course_warning(course, "round", {"algorithm": "lbfgs", "learning_rate": 0.1})
    )


@pytest.mark.long_cases("vertical")
@pytest.mark.parametrize("name", SAMPLES)
def test_a_diverged_run_says_so_before_all_else(name: str, tmp_path) -> None:
    summary: dict[str, Any] = json.loads(SAMPLES[name].read_text(encoding="utf-8"))
    assert not has_diverged(summary)
    summary["convergence"] = describe_convergence([0.7, 5e6], untrained=0.6931)
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    summary = load_summary(tmp_path)
    assert has_diverged(summary)
    assert verdict(summary).startswith("TRAINING DIVERGED")
    assert any(warning.startswith("TRAINING DIVERGED") for warning in brief_of(summary).warnings)
    assert "TRAINING DIVERGED: the loss went from" in render_page(summary)
    lines = [line for finding in terminal_findings(summary) for line in finding.lines]
    assert any(line.startswith("TRAINING DIVERGED: the loss went") for line in lines)


@pytest.mark.parametrize(
    ("settings", "cure"),
    [
        ({"algorithm": "lbfgs", "clipping": "adaptive"}, "look for cells and labels that lie far"),
        ({"algorithm": "fedavg", "clipping": "fixed"}, "raise codec.alpha"),
        ({"algorithm": "fedavg", "clipping": "adaptive"}, "look for cells and labels"),
    ],
)
def test_a_training_that_clipping_holds_back_has_not_converged(settings, cure: str, tmp_path) -> None:
    summary: dict[str, Any] = json.loads(SAMPLES["horizontal"].read_text(encoding="utf-8"))
    summary["convergence"] = describe_convergence([0.7] * 8, held=[True] * 8, stopped_early=True)
    summary["settings"] |= settings
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    (told,) = (found for found in brief_of(load_summary(tmp_path)).warnings if "NOT CONVERGED" in found)
    assert "clipping held training back in the last 2 rounds" in told
    assert cure in told
    assert "Converged" not in dict(brief_of(summary).facts)["result"]
