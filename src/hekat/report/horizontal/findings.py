"""The findings of a run as sentences, each derived from its figures; none is said that the figures do not bear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hekat.report.brief import RECOMMENDED_KEY_BITS
from hekat.report.horizontal.byte_text import fills_partly
from hekat.report.how_played import is_of_one_role
from hekat.report.measured_rows import SAYS_NOTHING, are_training_rows, rows_in_words
from hekat.report.number_text import (
    count_in_words,
    describe_metric,
    format_count,
    format_difference,
    format_metric,
    format_number,
    format_seconds,
    format_share,
    format_times,
    pluralise,
)
from hekat.report.table import METRIC_ORDER, metric_names
from hekat.report.training_course import DIVERGED, has_diverged

# Beside this share of the bound, what clipping moved is rounding of the check itself.
_LEAST_EXCESS = 1e-3
_SMALL_MODEL = {
    "paillier": " With a model as small as this the plain run has next to nothing to do, while every message still "
    "costs whole ciphertexts: the ratio says little about large models.",
    "lattice": " With a model as small as this the plain run has next to nothing to do, while every sum still costs "
    "its shares, signatures and seals: the ratio says little about large models.",
}


def is_encrypted(summary: Mapping[str, Any]) -> bool:
    """Whether the run itself (not its comparison) was protected."""
    return bool(summary["settings"]["protection"] != "none")


def verdict(summary: Mapping[str, Any]) -> str:
    """One sentence: who trained how, and how good the model is next to the plain run and each party alone."""
    # One role alone knows its own table.
    beginning = f"{DIVERGED} " if has_diverged(summary) else ""
    who = "The parties" if is_of_one_role(summary) else count_in_words(len(summary["parties"]), "party")
    how = _how_protected(summary)
    names = metric_names(summary)
    main = summary["results"][-1]
    name = next((name for name in names if name in main["metrics"]), None)
    if name is None:
        return f"{beginning}{who} trained one model {how}{_without_test_rows(summary)}"
    quality = _quality(name, main["metrics"][name], rows_in_words(summary, unknown="the common test set"))
    found = "; ".join([", ".join([quality, *_beside_plain(summary, name)]), *_beside_alone(summary, name)])
    told = f" Measured on the rows it was trained on, {SAYS_NOTHING}." if are_training_rows(summary) else ""
    return f"{beginning}{who} trained one model {how}: it {found}.{told}"


def _how_protected(summary: Mapping[str, Any]) -> str:
    if not is_encrypted(summary):
        return "WITHOUT protection (the aggregator saw every update)"
    clear = clear_share(summary)
    return "with every update encrypted" if clear is None else f"with {clear} of every update IN THE CLEAR"


def clear_share(summary: Mapping[str, Any]) -> str | None:
    """Which part of an update's values the aggregator saw, where the job masks only the others."""
    masked, mask = summary["settings"].get("masked"), summary.get("mask")
    if masked is None:
        return None
    # Whole rows can be more than the job's part.
    return format_share(1 - (masked if mask is None else mask["masked"] / mask["values"]))


def clear_alarm(summary: Mapping[str, Any]) -> str | None:
    """What to know of a run that masked only a part of every update; None for any other."""
    clear = clear_share(summary)
    if clear is None:
        return None
    return (
        f"{clear} of the values of every update went to the aggregator IN THE CLEAR, as the job's protection.masked "
        f"says. What is left to see can give the rows away: use this to compare. {_mask_sentence(summary)}"
    )


def _mask_sentence(summary: Mapping[str, Any]) -> str:
    mask = summary.get("mask")
    if mask is None:
        return "The mask is known to the parties."
    return (
        f"The mask of the last round chose {format_count(mask['masked'])} of {format_count(mask['values'])} weights; "
        f"its SHA-256 is {mask['sha256'][:16]}..."
    )


def key_warning(summary: Mapping[str, Any]) -> str | None:
    """The note on a key below the recommended size."""
    bits = summary["settings"].get("key_bits")
    if not is_encrypted(summary) or bits is None or bits >= RECOMMENDED_KEY_BITS:
        return None
    return (
        f"The key has {format_count(bits)} bits, fewer than the {format_count(RECOMMENDED_KEY_BITS)} that Hekat "
        "takes unless told otherwise. NIST SP 800-57 rates 2,048 bits at 112-bit and 3,072 bits at 128-bit security. "
        "For data that must stay secret for long, set protection.key_bits = 3072."
    )


def difference_sentences(summary: Mapping[str, Any]) -> list[str]:
    """How far the encrypted model is from the plain one."""
    if not is_encrypted(summary):
        return ["The run itself was not encrypted, so there is nothing to compare with."]
    if "plain" not in summary["rounds"]:
        return ["No plain run was made beside it, so the cost of encryption in quality was not measured."]
    found = []
    if summary["difference"]:
        items = [f"{describe_metric(n).title} {format_difference(n, v)}" for n, v in summary["difference"].items()]
        found.append(f"Encrypted minus plain: {', '.join(items)}.")
    bias = summary["convergence_bias"]
    if bias is not None:
        found.append(
            f"The final training losses differ by {format_number(bias)} of the plain one "
            "(convergence bias, FLBooster (ICDE 2023), Eq. 15)."
        )
    if found and summary.get("lost"):
        found.append("The plain run kept every party: what was lost with one is in this difference too.")
    return found or ["The difference from the plain run was not measured."]


def granularity_sentence(summary: Mapping[str, Any]) -> str | None:
    """What one test row is worth, so that nobody reads much into a small difference."""
    rows = summary["test_rows"]
    if not rows or "accuracy" not in metric_names(summary) or are_training_rows(summary):
        return None
    return (
        f"One test row more or less right is {format_number(100 / rows)} points of accuracy: "
        "a difference of a few rows says little about which model is better."
    )


def exactness_sentences(summary: Mapping[str, Any]) -> list[str]:
    """How many sums were checked, whether all lay within their bounds, how near the worst came."""
    checks = summary["exactness"]
    if summary.get("privacy"):
        return ["Nothing to check: sums of noised integers are exact, and the noise is meant."]
    if not checks:
        return [
            "Not checked in this run: the check needs all parties in one process and `exactness = true` in the job."
        ]
    beyond = [check for check in checks if check["largest_error"] > check["bound"]]
    number = f"{format_count(len(checks))} {pluralise(len(checks), 'sum')} checked"
    if beyond:
        steps = ", ".join(check["step"] for check in beyond)
        outcome = f"{len(beyond)} BEYOND THE STATED BOUND ({steps}): this is a defect, please report it"
    else:
        worst = max((check["largest_error"] / check["bound"] for check in checks if check["bound"]), default=0.0)
        outcome = f"all within the stated bound; the nearest came to {format_share(worst)} of its bound"
    found = [f"{number}, {outcome}."]
    excess = [c["clipped_excess"] for c in checks if c["clipped_excess"] > _LEAST_EXCESS * c["bound"]]
    if excess:
        found.append(
            "The bound is on the sum of the clipped values; clipping itself moved a mean by at most "
            f"{format_number(max(excess))} more, in {format_count(len(excess))} of the sums."
        )
    return found


def clipping_sentence(summary: Mapping[str, Any]) -> str:
    """How many values of the updates were beyond the clipping bound."""
    clipped = summary["clipped"]
    if clipped is None:
        return "Not measured: without encryption nothing is clipped." if not is_encrypted(summary) else "Not measured."
    if not clipped["of"]:
        of_one = is_of_one_role(summary)
        return "Not known to this role: parties clip." if of_one else "Not measured: no values were sent."
    share = clipped["count"] / clipped["of"]
    sent = f"{format_count(clipped['of'])} values that the parties sent in all rounds"
    if not clipped["count"]:
        return f"None of the {sent} was beyond the clipping bound."
    worst = max(summary["rounds"].get("encrypted", []), key=lambda item: item.get("clipped") or 0, default=None)
    most = (
        f" Most in round {worst['round']}: {format_count(worst['clipped'])}." if worst and worst.get("clipped") else ""
    )
    cut = f"{format_count(clipped['count'])} of the {sent} ({format_share(share)})"
    return f"{cut} were beyond the clipping bound and cut to it.{most}"


def time_sentences(summary: Mapping[str, Any]) -> list[str]:
    """Wall-clock seconds of both federations and their ratio."""
    seconds = summary["seconds"]
    encrypted, plain, key = seconds.get("encrypted"), seconds.get("plain"), seconds.get("key")
    found = []
    if is_encrypted(summary) and encrypted is None:
        found.append("How long the encrypted federation took was not measured.")
    elif is_encrypted(summary):
        making = f", with {format_seconds(key)} for the key pair (once per run, not per round)" if key else ""
        found.append(f"From start to end the encrypted federation took {format_seconds(encrypted)}{making}.")
    if plain is not None:
        found.append(
            f"The plain federation took {format_seconds(plain)}: its updates are sealed and signed as well, as float64 "
            "of twice the bytes of bare float32."
        )
    if seconds.get("ratio") is not None:
        which = "Not counting the key, the" if key else "The"
        found.append(
            f"{which} encrypted one took {format_times(seconds['ratio'])} as long."
            + (_SMALL_MODEL[summary["settings"]["protection"]] if fills_partly(summary) else "")
        )
    return found


def round_sentence(summary: Mapping[str, Any]) -> str:
    """How many rounds ran, of how many asked for."""
    made = summary["rounds"].get("encrypted" if is_encrypted(summary) else "plain", [])
    asked = summary["settings"].get("rounds")
    if not made:
        return "No round was run here."
    first, last = made[0]["round"], made[-1]["round"]
    text = f"{format_count(len(made))} {pluralise(len(made), 'round')} ran"
    if first > 1:
        text += f", from round {first} on (resumed from a checkpoint)"
    if isinstance(asked, int) and last < asked:
        text += f"; the job allowed {asked}, and the stop rule ended it at round {last}"
    return text + "."


def _without_test_rows(summary: Mapping[str, Any]) -> str:
    """The end of the verdict without a common test set: a metric on held-out rows, or the training loss."""
    validation = summary["results"][-1].get("validation", {})
    name = next((name for name in METRIC_ORDER if name in validation), None)
    if name is None:
        return _over_folds(summary) or f". {_loss_sentence(summary)}"
    rows = f"{format_count(validation['rows'])} {pluralise(validation['rows'], 'row')} that the parties held out"
    return f": it {_quality(name, validation[name], rows)}; there was no common test set."


def _over_folds(summary: Mapping[str, Any]) -> str | None:
    """How good models of folds are on the rows that they were not trained on."""
    found = summary.get("cross_validation")
    name = next((name for name in METRIC_ORDER if found and name in found["mean"]), None)
    if not found or name is None:
        return None
    shown, apart = (format_metric(name, found[key][name]) for key in ("mean", "deviation"))
    said = "is right for" if name == "accuracy" else f"has {describe_metric(name).title}"
    of = "of" if name == "accuracy" else "on"
    return (
        f". Cross-validated over {len(found['folds'])} folds, such a model {said} {shown} ± {apart} {of} rows that it "
        "was not trained on."
    )


def _quality(name: str, value: float, rows: str) -> str:
    shown = format_metric(name, value)
    if name == "accuracy":
        return f"is right for {shown} of {rows}"
    return f"has {describe_metric(name).title} {shown} on {rows}"


def _beside_plain(summary: Mapping[str, Any], name: str) -> list[str]:
    plain = next((r for r in summary["results"][:-1] if r["kind"] == "plain"), None)
    if plain is None or not is_encrypted(summary) or name not in plain["metrics"]:
        return []
    mine, other = summary["results"][-1]["metrics"][name], plain["metrics"][name]
    if mine == other:
        return ["exactly as many as without encryption" if name == "accuracy" else "exactly as without encryption"]
    return [f"against {format_metric(name, other)} without encryption ({format_difference(name, mine - other)})"]


def _beside_alone(summary: Mapping[str, Any], name: str) -> list[str]:
    alone = [r["metrics"][name] for r in summary["results"] if r["kind"] == "alone" and name in r["metrics"]]
    if not alone:
        return []
    low, high = format_metric(name, min(alone)), format_metric(name, max(alone))
    reach = f"each party alone reaches {low}" if low == high else f"the parties alone reach {low} to {high}"
    return [reach + _count_better(alone, summary["results"][-1]["metrics"][name], name)]


def _count_better(alone: Sequence[float], mine: float, name: str) -> str:
    higher = describe_metric(name).higher_is_better
    if higher is None:
        return ""
    better = sum(value > mine if higher else value < mine for value in alone)
    if not better:
        return ", none of them better"
    return f", {format_count(better)} of {format_count(len(alone))} doing better by this measure"


def _loss_sentence(summary: Mapping[str, Any]) -> str:
    finals = [(kind, made[-1]["loss"]) for kind in ("encrypted", "plain") if (made := summary["rounds"].get(kind))]
    if not finals and is_of_one_role(summary):
        return "Metrics and losses are at the parties; this role trains nothing."
    if not finals:
        return "There was no common test set, and no round to take a training loss from."
    shown = ", ".join(f"{format_metric('loss', loss)} {kind}" for kind, loss in finals)
    std = (summary.get("privacy") or {}).get("loss_std")
    noise = "" if std is None else f", with noise of a standard deviation of {format_metric('loss', std)}"
    return f"There was no common test set; the final training loss is {shown}{noise}."
