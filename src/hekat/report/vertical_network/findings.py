"""The findings of a split network as sentences, each derived from its figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.report.brief import (
    Brief,
    brief_table,
    data_warnings,
    place_sentence,
    sent_sentence,
    unusual_caveats,
)
from hekat.report.measured_rows import measured_note, training_rows_warning
from hekat.report.number_text import (
    count_in_words,
    format_count,
    format_number,
    format_seconds,
    join_names,
    pluralise,
)
from hekat.report.training_course import Course, converged_words, course_of, course_warning
from hekat.report.vertical.sentences import quality_in_words, time_sentences
from hekat.report.vertical.trained_rows import trained_in_words

_BESIDE = {"centralised": "by the same network on the joined rows"}
# Caveats that `protected` says in its own words.
_TOLD = (
    " learned what the interactive layer gives",
    " learned nothing of labels but when",
    " is trusted to send what",
    "form sealed: ",
)


def is_encrypted(summary: Mapping[str, Any]) -> bool:
    """Whether the run was protected."""
    return bool(summary["settings"]["protection"] != "none")


def is_to_compare(settings: Mapping[str, Any]) -> bool:
    """Whether the run had FATE's form, which is there for a comparison alone."""
    return bool(settings["form"] == "guest_layer")


def is_sealed(settings: Mapping[str, Any]) -> bool:
    """Whether all of the network lay in shares, so that nothing but mean losses opened."""
    return bool(settings["form"] == "sealed")


def loss_of_classes(settings: Mapping[str, Any]) -> str:
    """What the loss of a classification is called."""
    return "Taylor loss" if is_sealed(settings) else "log-loss"


def verdict(summary: Mapping[str, Any]) -> str:
    """One sentence: who trained what together on how many rows, how protected, and how good it is."""
    columns = sum(party["columns"] or 0 for party in summary["parties"])
    count = len(summary["epochs"])
    how = (
        f"with products encrypted under {summary['settings']['protection']}"
        if is_encrypted(summary)
        else "WITHOUT protection (features, gradients and weights were sent in the clear)"
    )
    text = (
        f"{join_names([party['name'] for party in summary['parties']])} trained a split network in "
        f"{format_count(count)} {pluralise(count, 'epoch')} on {count_in_words(columns, 'column').lower()} of "
        f"{trained_in_words(summary)}, {how}"
    )
    quality = quality_in_words(summary, _BESIDE)
    return f"{text}: {quality}." if quality else f"{text}."


def leak_cautions(summary: Mapping[str, Any]) -> list[str]:
    """What the job lets others learn beyond scores, which nobody may miss."""
    settings = summary["settings"]
    guest, hosts = settings["guest"], join_names(settings["hosts"])
    if is_sealed(settings):
        return []
    found = [
        f"Each host WAIVED what the interactive layer tells of it: {guest} may know the features of {hosts} but for a "
        "rotation, and columns of other people once it knows some people's."
    ]
    if is_to_compare(settings):
        found.append(
            f"Form guest_layer is there TO COMPARE with FATE's protocol: {guest} held weights of hosts under noise, "
            "whose protection has no proof, and learned the outputs of each host by themselves. Form shared opens less."
        )
    if settings["host_bottom"] == "trained" and settings.get("label_privacy") is None:
        found.append(
            f"{guest} WAIVED what gradients tell of labels: {hosts} can read the label of nearly every row off the "
            "gradients of their bottoms. Label privacy bounds that: [label_privacy] epsilon."
        )
    if settings["host_bottom"] == "trained":
        others = guest if len(settings["hosts"]) == 1 else f"{guest} and of each other"
        found.append(
            f"All parties WAIVED what slopes tell of columns: {hosts} may learn of the columns of {others}, which "
            "label privacy does not bound."
        )
    return found


def cautions(summary: Mapping[str, Any]) -> list[str]:
    """What a reader has to be told before anything else."""
    told, course = training_rows_warning(summary), training_warning(summary)
    return [*([course] if course else []), *leak_cautions(summary), *([told] if told else [])]


def first_caution(summary: Mapping[str, Any]) -> str | None:
    """All cautions in one text; None where there is none."""
    return " ".join(cautions(summary)) or None


def training_warning(summary: Mapping[str, Any]) -> str | None:
    """A sentence where training diverged, or its loss rose or still fell at the end; None otherwise."""
    return course_warning(_course(summary), "epoch", summary["settings"])


def _course(summary: Mapping[str, Any]) -> Course:
    losses = [epoch["loss"] for epoch in summary["epochs"] if epoch["loss"] is not None]
    return course_of(summary, losses, stopped_early=summary["stopped_early"])


def training_sentences(summary: Mapping[str, Any]) -> list[str]:
    """What training began with, how the loss went, how fast the shared layer moved, and how long an epoch took."""
    epochs, started_from = summary["epochs"], summary["started_from"]
    losses = [one["loss"] for one in epochs if one["loss"] is not None]
    found = []
    if started_from is not None:
        found.append(f"Training went on with the network of run {started_from}, each party with its own part.")
    if losses:
        count = f"{format_count(len(epochs))} {pluralise(len(epochs), 'epoch')}"
        loss = "Taylor loss" if is_sealed(summary["settings"]) else "training loss"
        found.append(f"In {count} the {loss} went from {losses[0]:.6g} to {losses[-1]:.6g}.")
    if summary["stopped_early"]:
        found.append(
            "The stop rule ended training before the last epoch that the job allows; where the loss swung before that, "
            "a lower shared_rate goes further."
        )
    if summary["shared_rate"] is not None:
        moved = "All weights" if is_sealed(summary["settings"]) else "The shared layer"
        found.append(f"{moved} moved at a rate of {format_number(summary['shared_rate'])}.")
    return [*found, *epoch_seconds(summary)]


def epoch_seconds(summary: Mapping[str, Any]) -> list[str]:
    """How long an epoch took; empty where none was timed."""
    timed = [one["seconds"] for one in summary["epochs"] if one["seconds"] is not None]
    return [f"An epoch took {format_seconds(sum(timed) / len(timed))} on average."] if timed else []


def compared_sentences(summary: Mapping[str, Any]) -> list[str]:
    """How the run stands beside the same network on the joined rows; empty where none was trained."""
    compared = summary["compared"]
    if compared is None or compared["loss"] is None or compared["centralised_loss"] is None:
        return []
    losses = "Taylor losses" if is_sealed(summary["settings"]) else "losses"
    return [
        f"The last epoch's {losses} are {compared['loss']:.6g} and, of the same network on the joined rows in floats, "
        f"{compared['centralised_loss']:.6g}; the two begin with other weights."
    ]


def network_brief(summary: Mapping[str, Any]) -> Brief:
    """What a training of a split network prints unasked."""
    note = "" if summary["test_rows"] is None else measured_note(summary)
    told = [verdict(summary), *compared_sentences(summary), converged_words(_course(summary), "epoch")]
    facts = (
        ("result", " ".join(sentence for sentence in told if sentence)),
        ("protected", f"{_protected(summary)}{place_sentence(summary['notes'])}"),
        ("time", " ".join([*time_sentences(summary), *epoch_seconds(summary)])),
        ("bytes", sent_sentence(summary)),
    )
    data = data_warnings(summary["notes"])
    said = [caveat for caveat in summary["notes"] if any(words in caveat for words in _TOLD)]
    return Brief(
        brief_table(summary["results"], note),
        facts,
        (*cautions(summary), *data),
        unusual_caveats(summary["notes"], told=[*data, *said]),
    )


def _protected(summary: Mapping[str, Any]) -> str:
    settings = summary["settings"]
    guest, hosts = settings["guest"], join_names(settings["hosts"])
    if not is_encrypted(summary):
        return "NOTHING: parties saw each other's features, gradients and weights."
    if is_sealed(settings):
        return (
            f"All weights, units and slopes lay in shares: {guest} learned the mean loss of each epoch and {hosts} "
            "when training ended."
        )
    several = len(settings["hosts"]) > 1 and not is_to_compare(settings)
    lie = "lay with it under noise" if is_to_compare(settings) else "lie in shares"
    learned = (
        f"{guest} learned what the interactive layer gives of {hosts}{', summed,' if several else ''} and "
        f"{'their noisy gradients' if is_to_compare(settings) else 'nothing else'}; weights of a host's side {lie}."
    )
    if settings["host_bottom"] != "trained":
        scored = not set(settings["hosts"]).isdisjoint(settings["receivers"]) and settings.get("label_privacy") is None
        others = "hosts that follow the protocol, since they may receive scores" if scored else "all others"
        return f"The labels of {guest}, from {others}: no gradient opens to a host. {learned}"
    if settings.get("label_privacy") is not None:
        return f"The labels of {guest} are replaced by chance, epsilon {settings['label_privacy']:g}. {learned}"
    return f"NO labels: gradients of their bottoms told {hosts} the labels of {guest}. {learned}"
