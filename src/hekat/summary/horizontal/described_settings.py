"""A job's settings as the plain table of summary.json, with what its protection rests on in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hekat.protocol.horizontal.selective_settings import SelectiveSettings
from hekat.protocol.horizontal.settings import HorizontalSettings, TrainingSettings
from hekat.protocol.horizontal.training.validation import scored_classes
from hekat.protocol.secure_sum.cost.packing import Packing
from hekat.protocol.secure_sum.masked.opening.opening_schemes import make_opening_scheme, parameters_of_sum
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.scheme.lattice import LatticeParameters

# docs/spec/security-estimate.md; not a word more is claimed.
CLAIM = "about 140 bits classical by the lattice estimator (MATZOV), about 113 to 115 by core-SVP"
_CLAIMED_MODULUS_BITS, _CLAIMED_DEGREE = 50, 2048


def describe_settings(
    settings: HorizontalSettings, members: Sequence[str] | None = None, packing: Packing | None = None
) -> dict[str, Any]:
    """Every setting; those that another protection has are left out.

    `members` are those that were drawn for the job, None where all parties are; `packing` is of an update, None where
    there was none: a role that sends none tells each set that updates can be under.
    """
    training, codec = settings.training, settings.codec
    return {
        "algorithm": training.algorithm,
        "rounds": training.round_count,
        **({} if training.searches_line else _describe_local_steps(training)),
        **_describe_algorithm(training),
        "standardise": training.standardise,
        "model": settings.model.name,
        "hidden": list(settings.model.hidden),
        "l2": f"{settings.penalty_by_rows} / rows" if settings.penalty_by_rows else settings.model.own_l2,
        **({"parameters": list(settings.model.parameters)} if settings.model.parameters else {}),
        "value_bits": codec.value_bits,
        "layout": codec.layout,
        "rounding": codec.rounding if settings.privacy is None else "by a secret dither",
        "clipping": codec.clipping if settings.privacy is None else f"of each {settings.privacy.unit}'s part",
        **({"max_norm": codec.max_norm} if codec.max_norm else {}),
        "protection": settings.protection,
        **_describe_protection(settings, members, packing),
        **_describe_validation(settings),
        **_describe_participation(settings),
        "weight_max": settings.weight_max,
        "aggregator": settings.aggregator,
        "leader": settings.leader,
        "classes": None if settings.classes is None else list(settings.classes),
    }


def _describe_local_steps(training: TrainingSettings) -> dict[str, Any]:
    """What a line search has not."""
    return {
        "local_epochs": training.local_epochs,
        "batch_rows": training.batch_rows,
        "learning_rate": training.learning_rate,
        "optimiser": training.optimiser,
    }


def _describe_algorithm(training: TrainingSettings) -> dict[str, Any]:
    """What only some algorithms have, and what is off unless a job asks for it."""
    described: dict[str, Any] = {}
    if training.optimiser_settings:
        described["optimiser_settings"] = [f"{name} = {value:g}" for name, value in training.optimiser_settings.items()]
    if training.algorithm == "fedprox":
        described["proximal_mu"] = training.proximal_mu
    if training.error_feedback:
        described["error_feedback"] = True
    if training.kept.is_on:
        described |= {"keep": training.keep, "keep_by": training.keep_by}
    if training.stop_at_loss:
        described["stop_at_loss"] = training.stop_at_loss
    return described


def security_of(parameters: LatticeParameters) -> str:
    """What is claimed of a set: the figures of q = 2^50 and N = 2048; every other set is harder by each of them."""
    ring = parameters.form.ring
    is_claimed = (ring.modulus.bit_length(), ring.degree) == (_CLAIMED_MODULUS_BITS, _CLAIMED_DEGREE)
    return CLAIM if is_claimed else f"at least {CLAIM}"


def _describe_validation(settings: HorizontalSettings) -> dict[str, Any]:
    validation = settings.validation
    if not validation.is_on:
        return {}
    bins = {"score_bins": validation.bins} if scored_classes(settings) else {}
    if validation.folds:
        return {"folds": validation.folds, **bins}
    return {"hold_out": validation.hold_out, "validate_every": validation.every, **bins}


def _describe_participation(settings: HorizontalSettings) -> dict[str, Any]:
    training, found = settings.training, {}
    if settings.sample_size < len(settings.parties):
        found = {"participation": training.participation, "sample_size": settings.sample_size}
    return found | ({"min_parties": training.min_parties} if training.min_parties else {})


def parameters_of_update(settings: HorizontalSettings, packing: Packing | None) -> LatticeParameters:
    """The set of a round's sum, of updates packed like this; None: of updates of many values."""
    slot_count = None if packing is None else packing.lane_count
    return parameters_of_sum(settings.sums, settings.codec.value_bits, settings.sample_size, slot_count)


def _possible_sets(settings: HorizontalSettings, packing: Packing | None) -> list[LatticeParameters]:
    many = parameters_of_update(settings, packing)
    few = parameters_of_sum(settings.sums, settings.codec.value_bits, settings.sample_size, 1)
    return [many] if packing is not None or few == many else [few, many]


def _describe_protection(
    settings: HorizontalSettings, members: Sequence[str] | None, packing: Packing | None
) -> dict[str, Any]:
    if settings.protection == "paillier":
        return {"key_bits": settings.key_bits}
    if settings.protection == "none":
        return {}
    sets = _possible_sets(settings, packing)
    rings = [one.form.ring for one in sets]
    return {
        **describe_opening(settings.sums, members),
        "parameter_set": " or ".join(one.name for one in sets),
        "ring": " or ".join(f"degree {ring.degree}, modulus of {ring.modulus.bit_length()} bits" for ring in rings),
        "security": min(map(security_of, sets), key=len),
        **({"check_sum": True} if settings.check_sum else {}),
        **_describe_selective(settings.selective),
    }


def _describe_selective(selective: SelectiveSettings | None) -> dict[str, Any]:
    """What a job says that masks a part of every update."""
    if selective is None:
        return {}
    rules = selective.rules
    return {
        "masked": rules.fraction,
        "map": selective.mode,
        "map_rows": selective.row_count,
        **({"always": list(rules.always)} if rules.always else {}),
        **({"never": list(rules.never)} if rules.never else {}),
        "groups": rules.groups,
        **({"expose_embeddings": True} if rules.expose_embeddings else {}),
        **({"refresh": selective.refresh} if selective.refresh else {}),
    }


def describe_opening(settings: SumSettings, members: Sequence[str] | None) -> dict[str, Any]:
    """Who opens sums under `lattice`; `members` as in `describe_settings`."""
    way = make_opening_scheme(settings, members=members)
    return {
        "opening": settings.opening,
        "openers": list(way.members) or list(settings.parties),
        "openers_needed": way.quorum or 1,
    }
