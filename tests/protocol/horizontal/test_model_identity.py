"""Parties with another model are told before anything is trained: other code, other tensors, another start."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.errors import InputError, PartyStoppedError
from hekat.model import Mlp
from hekat.protocol.horizontal.model_identity import ModelIdentity, check_same_model, identify_model
from hekat.protocol.horizontal.party import run_party
from hekat.protocol.horizontal.settings import ModelSettings

MINE = ModelIdentity("ab" * 32, ("first.weight (3, 4)", "first.bias (3,)"), "cd" * 32)


@pytest.mark.parametrize(
    ("theirs", "says"),
    [
        ({"code": "ef" * 32}, r"parties a and c have different code for model net.*abababab.*efefefef.* at c"),
        ({"code": ""}, r"different code for model net.*got Hekat's own model at c"),
        (
            {"code": "ef" * 32, "tensors": ("first.weight (9, 4)", "first.bias (3,)")},
            r"different code.*its tensors: no first\.weight \(3, 4\), but first\.weight \(9, 4\)",
        ),
        (
            {"tensors": ("first.weight (9, 4)", "first.bias (3,)")},
            r"parties a and c have different tensors in model net.*at c: no first\.weight \(3, 4\), but first\.weight",
        ),
        ({"tensors": MINE.tensors[::-1]}, "the same in another order"),
        ({"tensors": MINE.tensors[:1]}, r"at c: no first\.bias \(3,\); cure"),
        ({"start": "00" * 32}, "parties a and c begin with different values in model net"),
    ],
)
def test_two_parties_are_named_with_what_differs(theirs, says) -> None:
    with pytest.raises(InputError, match=says):
        check_same_model("net", {"a": MINE, "b": MINE, "c": replace(MINE, **theirs)})
    check_same_model("net", {"a": MINE, "b": replace(MINE)})


def test_an_identity_follows_from_the_model_and_its_seed() -> None:
    model = Mlp(3, 2, hidden=(4,))
    found = identify_model(model, "", 1)
    assert found.tensors[:2] == ("layer_1.weight (3, 4)", "layer_1.bias (4,)")
    assert found == identify_model(Mlp(3, 2, hidden=(4,)), "", 1)
    assert found.start != identify_model(model, "", 2).start

    class Shifted(Mlp):
        def init(self, seed):
            params = super().init(seed)
            return {**params, "layer_2.bias": np.nextafter(params["layer_2.bias"], 1)}

    assert found.start != identify_model(Shifted(3, 2, hidden=(4,)), "", 1).start


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (ModelSettings("mlp", hidden=(2,), seed=2), "parties a and b begin with different values in model mlp"),
        (ModelSettings("mlp", hidden=(3,), seed=1), "parties a and b have different tensors in model mlp"),
    ],
    ids=["start", "tensors"],
)
def test_nothing_but_the_announcement_is_sent(model, says, rehearse, tables_of, settings_of) -> None:
    tables = tables_of(1)
    settings = settings_of(model=ModelSettings("mlp", hidden=(2,), seed=1))
    rehearsal = rehearse(settings, tables, exactness_check=False)
    other = replace(settings, model=model)
    rehearsal.stand_ins = {
        "b": lambda channel: run_party(channel, tables["b"], other, rehearsal._party_run("b", channel, None))
    }
    with pytest.raises(PartyStoppedError, match=says) as caught:
        rehearsal.run()
    assert (caught.value.party, caught.value.step) == (settings.aggregator, "ready")
