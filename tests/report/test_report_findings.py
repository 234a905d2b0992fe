"""Sentences follow the figures: also where the encrypted model is worse, a bound is broken, or nothing was measured."""

from __future__ import annotations

from typing import Any

import pytest

from hekat.report import verdict
from hekat.report.horizontal.byte_text import byte_sentences
from hekat.report.horizontal.findings import (
    clipping_sentence,
    difference_sentences,
    exactness_sentences,
    key_warning,
    round_sentence,
    time_sentences,
)


def test_the_verdict_says_who_does_better_alone(sample: dict[str, Any]) -> None:
    assert verdict(sample) == (
        "Five parties trained one model with every update encrypted: it is right for 95.8% of 143 test rows, "
        "exactly as many as without encryption; the parties alone reach 92.3% to 96.5%, "
        "2 of 5 doing better by this measure."
    )


def test_the_verdict_tells_a_worse_encrypted_model(sample: dict[str, Any]) -> None:
    sample["results"][-1]["metrics"]["accuracy"] = 0.9
    assert "right for 90.0% of 143 test rows, against 95.8% without encryption (−5.80 points)" in verdict(sample)
    assert "5 of 5 doing better" in verdict(sample)


def test_the_verdict_tells_where_nobody_is_better_alone(sample: dict[str, Any]) -> None:
    sample["results"][-1]["metrics"]["accuracy"] = 0.99
    assert verdict(sample).endswith("the parties alone reach 92.3% to 96.5%, none of them better.")


def test_a_lower_error_is_better_in_a_regression(sample: dict[str, Any]) -> None:
    for result, rmse in zip(sample["results"], (5.0, 3.0, 4.0, 6.0, 7.0, 4.5, 4.5), strict=True):
        result["metrics"] = {"rmse": rmse}
    assert "it has RMSE 4.5000 on 143 test rows, exactly as without encryption" in verdict(sample)
    assert "alone reach 3.0000 to 7.0000, 2 of 5 doing better" in verdict(sample)


def test_an_unprotected_run_is_never_called_encrypted(unprotected: dict[str, Any]) -> None:
    assert "WITHOUT protection (the aggregator saw every update)" in verdict(unprotected)
    assert "not encrypted" in byte_sentences(unprotected)[0]
    assert "not encrypted" in difference_sentences(unprotected)[0]
    assert key_warning(unprotected) is None


def test_what_was_not_measured_is_said(nothing_measured: dict[str, Any]) -> None:
    assert "no common test set" in verdict(nothing_measured)
    assert exactness_sentences(nothing_measured)[0].startswith("Not checked")
    assert clipping_sentence(nothing_measured) == "Not measured."
    assert byte_sentences(nothing_measured) == ["The packing was not measured."]
    assert difference_sentences(nothing_measured)[0].startswith("No plain run")
    assert time_sentences(nothing_measured) == ["How long the encrypted federation took was not measured."]


@pytest.mark.parametrize(("bits", "warned"), [(2048, True), (3071, True), (3072, False), (4096, False)])
def test_a_key_below_3072_bits_is_noted(sample: dict[str, Any], bits: int, warned: bool) -> None:
    sample["settings"]["key_bits"] = bits
    assert (key_warning(sample) is not None) is warned


def test_the_plain_federation_is_not_taken_for_bare_float32(sample: dict[str, Any]) -> None:
    assert "as float64 of twice the bytes of bare float32" in " ".join(time_sentences(sample))


def test_all_sums_within_their_bounds(sample: dict[str, Any]) -> None:
    first, clipped = exactness_sentences(sample)
    assert first == "22 sums checked, all within the stated bound; the nearest came to 72.4% of its bound."
    assert "0.000420 more, in 1 of the sums" in clipped


def test_a_broken_bound_is_not_glossed_over(sample: dict[str, Any]) -> None:
    sample["exactness"][3]["largest_error"] = 2 * sample["exactness"][3]["bound"]
    sentence = exactness_sentences(sample)[0]
    assert "1 BEYOND THE STATED BOUND (round-2)" in sentence
    assert "all within" not in sentence


def test_clipped_values_are_counted(sample: dict[str, Any]) -> None:
    assert clipping_sentence(sample) == (
        "3 of the 3,100 values that the parties sent in all rounds (0.0968%) were beyond the clipping bound and cut "
        "to it. Most in round 1: 2."
    )
    sample["clipped"]["count"] = 0
    assert clipping_sentence(sample).startswith("None of the 3,100 values")


def test_the_byte_ratio_of_a_small_model_is_explained(sample: dict[str, Any]) -> None:
    said = " ".join(byte_sentences(sample))
    assert "31 values" in said
    assert "39 of 161 places in 1 ciphertext" in said
    assert "price of a small model" in said
    # 768 bytes hold 161 lanes, 4 bytes each as float32: 1.19.
    assert "1.19 times float32 (calculated from the packing, not measured" in said
    assert "says little about large models" in " ".join(time_sentences(sample))


def test_a_large_model_gets_no_such_excuse(sample: dict[str, Any]) -> None:
    sample["bytes"] |= {"update_values": 101770, "float32_per_update": 407080, "update_sealed": 490000}
    sample["bytes"]["ratio_to_float32"] = 1.2
    sample["packing"] |= {"lane_count": 101780, "ciphertext_count": 633}
    assert "small model" not in " ".join([*byte_sentences(sample), *time_sentences(sample)])


def test_rounds_tell_of_early_stops_and_resumed_runs(sample: dict[str, Any]) -> None:
    assert round_sentence(sample) == "20 rounds ran."
    sample["rounds"]["encrypted"] = sample["rounds"]["encrypted"][4:12]
    assert round_sentence(sample) == (
        "8 rounds ran, from round 5 on (resumed from a checkpoint); the job allowed 20, "
        "and the stop rule ended it at round 12."
    )
