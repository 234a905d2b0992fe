"""The shape of summary.json of a horizontal run."""

from __future__ import annotations

from typing import Any, Final

from hekat.report import shape
from hekat.report.convergence_shape import CONVERGENCE
from hekat.report.summary_head import SUMMARY_HEAD, SUMMARY_HEAD_MORE
from hekat.report.table import METRIC_ORDER

_METRICS = shape.map_of(shape.number)
# Of held-out rows: how many there were, beside the metrics; empty where nothing was validated.
VALIDATION = shape.empty_or(
    shape.record({"rows": shape.count}, {**dict.fromkeys(METRIC_ORDER, shape.number), "auc_error": shape.amount})
)
_ROUND = shape.record(
    {"round": shape.count, "loss": shape.number},
    {
        "clipped": shape.nullable(shape.count),
        "values": shape.nullable(shape.count),
        "metrics": _METRICS,
        "validation": VALIDATION,
    },
)
_SETTINGS = shape.record(
    {
        "algorithm": shape.text,
        "model": shape.text,
        "protection": shape.one_of("lattice", "paillier", "none"),
        "aggregator": shape.text,
        "leader": shape.text,
    },
    {
        "key_bits": shape.nullable(shape.count),
        "classes": shape.nullable(shape.list_of(shape.text)),
        "opening": shape.text,
        "openers": shape.list_of(shape.text),
        "openers_needed": shape.count,
        "participation": shape.amount,
        "sample_size": shape.count,
        "min_parties": shape.count,
        "parameter_set": shape.text,
        "security": shape.text,
        "masked": shape.amount,
    },
)
_MASK = shape.record({"masked": shape.count, "values": shape.count, "sha256": shape.text})
_WAYS = shape.record(dict.fromkeys(("up", "down", "shares_out", "shares_in"), shape.count))
ROLE_BYTES: Final = shape.map_of(
    shape.record({"sent": shape.count, "received": shape.count}, {"by_step": shape.map_of(_WAYS)})
)
_BYTES = shape.record(
    {
        "by_role": ROLE_BYTES,
        "update_values": shape.count,
        "float32_per_update": shape.count,
        "update_sealed": shape.nullable(shape.count),
        "sum_sealed": shape.nullable(shape.count),
        "ratio_to_float32": shape.nullable(shape.amount),
        "ciphertext_bytes": shape.nullable(shape.count),
    },
    {
        "update_written": shape.nullable(shape.count),
        "to_openers_sealed": shape.count,
        "from_openers_sealed": shape.count,
        "bits_per_value_up": shape.amount,
        "bits_per_value_down": shape.amount,
    },
)
_PACKING = shape.record(
    {
        "lane_count": shape.count,
        "lane_bits": shape.count,
        "lanes_per_ciphertext": shape.count,
        "ciphertext_count": shape.count,
        "compression_ratio": shape.amount,
        "plaintext_space_use": shape.amount,
    }
)
_CHECK = shape.record(
    {"step": shape.text, "largest_error": shape.amount, "bound": shape.amount, "clipped_excess": shape.amount}
)
_RESULT = shape.record(
    {"name": shape.text, "kind": shape.one_of("alone", "plain", "encrypted"), "metrics": _METRICS},
    {"validation": VALIDATION},
)
_MEASURED = shape.record({}, dict.fromkeys(METRIC_ORDER, shape.number))
_FOLDS = shape.record(
    {
        "folds": shape.list_of(
            shape.record(
                {"rows": shape.count, "rounds": shape.count},
                {**dict.fromkeys(METRIC_ORDER, shape.number), "auc_error": shape.amount},
            ),
            least=2,
        ),
        "mean": _MEASURED,
        "deviation": _MEASURED,
        "unsettled": shape.count,
    }
)
PARTY = shape.record(
    {"name": shape.text, "rows": shape.count, "class_rows": shape.nullable(shape.map_of(shape.count))},
    {"held_out": shape.count},
)
LOSS = shape.record(
    {"party": shape.text, "step": shape.text, "round": shape.nullable(shape.count), "reason": shape.text}
)
_CLIPPED = shape.nullable(shape.record({"count": shape.count, "of": shape.count}))
_COMPARED = shape.record(
    {
        "value_bits": shape.count,
        "metrics": _METRICS,
        "validation": VALIDATION,
        "loss": shape.number,
        "convergence_bias": shape.nullable(shape.amount),
        "update_sealed": shape.nullable(shape.count),
        "clipped": _CLIPPED,
    },
    {"bits_per_value_up": shape.nullable(shape.amount)},
)
_CLIP_COUNTS = {"clipped": shape.list_of(shape.count), "of": shape.list_of(shape.count)}
_CLIP_HISTORY = shape.same_lengths(
    shape.record(
        {
            "rounds": shape.list_of(shape.count),
            "tensors": shape.list_of(
                shape.record({"name": shape.text, **_CLIP_COUNTS, "bound": shape.list_of(shape.amount)})
            ),
            "others": shape.record({"tensors": shape.count, **_CLIP_COUNTS}),
        }
    )
)
INCLUDED = shape.record({"first": shape.count, "last": shape.count, "parties": shape.list_of(shape.text)})
_EPSILON = shape.nullable(shape.amount)
_PRIVACY = shape.record(
    {
        "unit": shape.one_of("row", "party"),
        "neighbours": shape.one_of("zero-out", "replace-one"),
        "batches": shape.one_of("all", "poisson-secret"),
        **dict.fromkeys(("clip", "delta", "sampling", "noise", "std_levels", "excess"), shape.amount),
        **dict.fromkeys(("alpha", "loss_bound", "loss_std"), shape.amount),
        **dict.fromkeys(("divisor", "colluders", "least_parties", "value_count", "levels", "releases"), shape.count),
        **dict.fromkeys(("epsilon", "epsilon_at_one", "epsilon_if_continuous"), _EPSILON),
        "epsilon_by_neighbours": shape.record(dict.fromkeys(("zero-out", "replace-one"), _EPSILON)),
        "by_round": shape.list_of(
            shape.record({"round": shape.count, "epsilon": _EPSILON, "epsilon_at_one": _EPSILON})
        ),
        "budgets": shape.list_of(
            shape.record(
                {"party": shape.text, "epsilon": _EPSILON, "limit": shape.amount, "releases": shape.count},
                {"colluders": shape.count},
            )
        ),
    }
)
_SECONDS = shape.nullable(shape.amount)

_SUMMARY: Final = shape.record(
    {
        **SUMMARY_HEAD,
        "settings": _SETTINGS,
        "parties": shape.list_of(PARTY),
        "test_rows": shape.nullable(shape.count),
        "task": shape.one_of("classification", "regression"),
        "results": shape.list_of(_RESULT, least=1),
        "difference": shape.nullable(_METRICS),
        "convergence_bias": shape.nullable(shape.amount),
        "rounds": shape.record({}, {"encrypted": shape.list_of(_ROUND), "plain": shape.list_of(_ROUND)}),
        "seconds": shape.record({}, {"encrypted": _SECONDS, "plain": _SECONDS, "key": _SECONDS, "ratio": _SECONDS}),
        "seconds_by_step": shape.map_of(shape.amount),
        "seconds_by_role": shape.map_of(shape.map_of(shape.amount)),
        "bytes": _BYTES,
        "packing": shape.nullable(_PACKING),
        "clipped": _CLIPPED,
        "exactness": shape.list_of(_CHECK),
        "aggregator_saw": shape.list_of(shape.text),
        "notes": shape.list_of(shape.text),
    },
    {
        **SUMMARY_HEAD_MORE,
        "compared_bits": shape.list_of(_COMPARED),
        "test_rows_trained_on": shape.count,
        "convergence": CONVERGENCE,
        "cross_validation": _FOLDS,
        "privacy": _PRIVACY,
        "mask": _MASK,
        "clipped_by_tensor": shape.nullable(_CLIP_HISTORY),
        "lost": shape.list_of(LOSS),
        "included": shape.list_of(INCLUDED),
        "aggregator_saw_steps": shape.list_of(shape.text),
    },
)


def check_horizontal_summary(value: Any) -> shape.Fault | None:
    """The fault in a horizontal run's summary; only the summary of a role without rows names no party."""
    fault = _SUMMARY(value)
    if fault is None and not value["parties"] and value.get("played") != "alone":
        return ".parties", "a list with at least 1 entries"
    return fault
