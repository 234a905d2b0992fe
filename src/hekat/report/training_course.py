"""How a training went, in words: converged, still falling, rising, diverged or not known, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hekat.report.number_text import format_count, format_metric, format_number, pluralise
from hekat.summary.convergence import MOST_WEIGHT, describe_convergence

Course = Mapping[str, Any]
"""As `hekat.summary.convergence.Convergence` has it."""

_NOTHING_KNOWN: Course = {"course": "too short"}
_USUAL_RATE = 0.1
_SHARED_RATE = "shared_rate"
DIVERGED = "TRAINING DIVERGED, and the model is of no use."
"""What a verdict on such a run begins with."""


def course_of(summary: Mapping[str, Any], losses: Sequence[float], *, stopped_early: bool) -> Course:
    """The summary's own verdict; of a summary of an earlier release the verdict on its `losses`."""
    known: Course | None = summary.get("convergence")
    if known is not None:
        return known
    return describe_convergence(losses, stopped_early=stopped_early) or _NOTHING_KNOWN


def has_diverged(summary: Mapping[str, Any]) -> bool:
    """Whether the run's training diverged, so that its model is of no use."""
    return bool((summary.get("convergence") or {}).get("course") == "diverged")


def course_warning(course: Course, step: str, settings: Mapping[str, Any]) -> str | None:
    """What nobody may miss of a training by "round" or "epoch"; None where it converged, or nothing is known."""
    match course["course"]:
        case "diverged":
            return (
                f"TRAINING DIVERGED: {_signs(course)}. The model is of no use, and to resume the unchanged job cannot "
                f"help: {_smaller_steps(settings)}, and begin a new run."
            )
        case "rising":
            return (
                f"The training loss rose from {_lowest(course)} to {format_metric('loss', course['last'])}: "
                f"{_smaller_steps(settings)}."
            )
        case "falling":
            over = _last_steps(course, step)
            return (
                f"NOT CONVERGED: the training loss was still falling, by {format_number(100 * course['fall'])}% over "
                f"{over}. More {step}s would lower it further{_other_rate(settings)}."
            )
        case "clipped":
            return (
                f"NOT CONVERGED: clipping held training back in {_last_steps(course, step)}, so a loss that stays as "
                f"it is says nothing: {_wider_bounds(settings)}."
            )
    return None


def course_sentence(course: Course, step: str, settings: Mapping[str, Any]) -> str | None:
    """The warning, or that training converged, or that noise hides it; None where nothing is known."""
    if course["course"] == "hidden by noise":
        start, last, noise = (format_metric("loss", course[key]) for key in ("start", "last", "noise_std"))
        return (
            f"Whether training converged is not known beside the noise: the training loss went from {start} to {last}, "
            f"and the noise in each loss has a standard deviation of {noise}. Test data would tell more."
        )
    if course["course"] != "settled":
        return course_warning(course, step, settings)
    recent = course["recent"]
    last = "one" if recent == 1 else str(recent)
    return (
        f"Converged after {format_count(course['steps'])} {pluralise(course['steps'], step)}: the last {last} "
        f"lowered the training loss by less than 1%, or a rule ended training."
    )


def converged_words(course: Course, step: str) -> str:
    """In a few words that training converged, and after how many steps, or that noise hides it; "" where it did not, or
    nothing is known."""
    if course["course"] == "hidden by noise":
        return "Whether training converged is not known beside the noise of its losses."
    if course["course"] != "settled":
        return ""
    return f"Converged after {format_count(course['steps'])} {pluralise(course['steps'], step)}."


def _last_steps(course: Course, step: str) -> str:
    recent = course["recent"]
    return f"the last {step}" if recent == 1 else f"the last {recent} {step}s"


def _wider_bounds(settings: Mapping[str, Any]) -> str:
    if settings.get("algorithm") == "lbfgs":
        return (
            "the bound grows after such a round, so give more rounds, and where they do not help, look for cells and "
            "labels that lie far from all others"
        )
    if settings.get("clipping") == "fixed":
        return 'raise codec.alpha, or set codec.clipping = "adaptive"'
    return "look for cells and labels that lie far from all others, or give more rounds"


def _signs(course: Course) -> str:
    signs = []
    if course["start"] is not None and course["last"] is not None and course["last"] > course["start"]:
        signs.append(
            f"the loss went from {format_metric('loss', course['start'])} to {format_metric('loss', course['last'])}"
        )
    elif course["steps"] and course["last"] is None:
        signs.append("the loss is no finite number")
    if course["largest_weight"] is not None and course["largest_weight"] > MOST_WEIGHT:
        signs.append(f"a weight is as large as {format_number(course['largest_weight'])} on standardised columns")
    return ", and ".join(signs) or "loss or weights are beyond reason"


def _lowest(course: Course) -> str:
    """The loss that the last one is held against: the beginning's where it rose above that, else the best."""
    start, best = course["start"], course["best"]
    return format_metric("loss", start if course["last"] > start else best)


def _other_rate(settings: Mapping[str, Any]) -> str:
    """What may do so beside more steps: of a network split by columns the rate of its shared layer."""
    rate = settings.get(_SHARED_RATE)
    return "" if rate is None else f", and another shared_rate than {rate:g} may: a lower one where the loss swings"


def _smaller_steps(settings: Mapping[str, Any]) -> str:
    rate, shared_rate = settings.get("learning_rate"), settings.get(_SHARED_RATE)
    is_searched = settings.get("algorithm") == "lbfgs"
    if rate is None or is_searched:
        return "look for cells and labels that lie far from all others"
    standardise = "" if settings.get("standardise", True) else ", or standardise the columns"
    if shared_rate is not None:
        return f"set a shared_rate well below {shared_rate:g}, or a lower learning_rate{standardise}"
    usual = f" ({_USUAL_RATE:g} suits standardised columns)" if rate > _USUAL_RATE else ""
    return f"set a learning_rate well below {rate:g}{usual}{standardise}"
