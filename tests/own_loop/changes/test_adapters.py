"""Loops that train adapters: what is frozen never leaves and is the same everywhere, and no words' rows move."""

from __future__ import annotations

from typing import Any

import pytest

import hekat
from hekat.errors import InputError, ProtocolError
from hekat.own_loop import Party

torch = pytest.importorskip("torch", reason="needs hekat[torch]")

INDEX = {"north": 0, "lake": 1, "county": 2}


class Adapted(torch.nn.Module):
    """A frozen table and layer, and LoRA's two factors beside the layer, named as peft names them."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.table = torch.nn.Embedding(20, 6)
        self.base = torch.nn.Linear(6, 6)
        self.lora_A, self.lora_B = torch.nn.Linear(6, 2, bias=False), torch.nn.Linear(2, 6, bias=False)
        for part in (self.table, self.base):
            part.requires_grad_(False)


def move(module: Any, step: float) -> None:
    with torch.no_grad():
        for one in module.parameters():
            if one.requires_grad:
                one += step


@pytest.mark.parametrize(("freezes", "sent"), [(False, 24), (True, 12)])
def test_only_what_is_trained_is_sent(freezes, sent, play_with) -> None:
    def play(party: Party) -> Any:
        module = Adapted()
        count = hekat.start_adapters(party, module, freeze_first_factors=freezes)
        move(module, float(INDEX[party.name]))
        party.aggregate(module, weight=1)
        return count, module

    run = play_with(play, weight_max=1)
    assert run.costs.rounds[0].value_count == sent
    assert set(run.costs.rounds[0].bounds) == {"lora_B.weight"} | (set() if freezes else {"lora_A.weight"})
    first = Adapted()
    for count, module in run.results.values():
        assert count == sent
        assert torch.equal(module.base.weight, first.base.weight)
        assert torch.allclose(module.lora_B.weight, first.lora_B.weight + 1, atol=1e-3)
        moved = 0.0 if freezes else 1.0
        assert torch.allclose(module.lora_A.weight, first.lora_A.weight + moved, atol=1e-3)


@pytest.mark.parametrize("name", ["base.weight", "lora_A.weight"])
def test_parties_whose_weights_differ_are_named(name, play_with) -> None:
    """Frozen ones by the digest of all of them, the others by the start that all share."""

    def play(party: Party) -> int:
        module = Adapted()
        if party.name == "lake":
            with torch.no_grad():
                dict(module.named_parameters())[name][0, 0] += 0.5
        return hekat.start_adapters(party, module)

    with pytest.raises(ProtocolError, match="is not the same at all parties") as refused:
        play_with(play)
    assert "lake" in refused.value.got
    assert ("frozen" in refused.value.what) is (name == "base.weight")


def refused_by(change: Any, play_with: Any, **how: bool) -> InputError:
    def play(party: Party) -> int:
        module = Adapted()
        change(module)
        return hekat.start_adapters(party, module, **how)

    with pytest.raises(InputError) as refused:
        play_with(play, protection="none")
    return refused.value


def test_a_trained_table_of_embeddings_is_refused(play_with) -> None:
    found = refused_by(lambda module: module.table.requires_grad_(True), play_with)
    assert "tables of embeddings would be trained" in found.what
    assert found.got == "table.weight"


def test_it_is_trained_where_that_is_said(play_with) -> None:
    def play(party: Party) -> int:
        module = Adapted()
        module.table.requires_grad_(True)
        return hekat.start_adapters(party, module, trains_embeddings=True)

    assert set(play_with(play, protection="none").results.values()) == {20 * 6 + 24}


class AdaptedTable(torch.nn.Module):
    """LoRA's factors beside a frozen table, as peft starts them: A at zero, B drawn."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.base_layer = torch.nn.Embedding(20, 6).requires_grad_(False)
        self.lora_embedding_A = torch.nn.ParameterDict({"default": torch.zeros(2, 20)})
        self.lora_embedding_B = torch.nn.ParameterDict({"default": torch.randn(6, 2)})


def test_of_a_table_the_drawn_factor_is_frozen(play_with) -> None:
    """The other one is zero: with it frozen, nothing would ever be learnt."""

    def play(party: Party) -> tuple[int, list[bool]]:
        module = AdaptedTable()
        count = hekat.start_adapters(party, module, freeze_first_factors=True, trains_embeddings=True)
        return count, [one["default"].requires_grad for one in (module.lora_embedding_A, module.lora_embedding_B)]

    assert play_with(play, protection="none").results["lake"] == (40, [True, False])


def test_factors_beside_a_table_are_refused_as_the_table_is(play_with) -> None:
    with pytest.raises(InputError, match="tables of embeddings would be trained") as refused:
        play_with(lambda party: hekat.start_adapters(party, AdaptedTable()), protection="none")
    assert refused.value.got == "lora_embedding_A.default, lora_embedding_B.default"


@pytest.mark.parametrize(
    ("change", "how", "words"),
    [
        (lambda module: module.requires_grad_(False), {}, "one that is frozen whole"),
        (lambda module: module.requires_grad_(True), {}, "one that is trained whole"),
        (lambda module: delattr(module, "lora_A"), {"freeze_first_factors": True}, "none"),
    ],
)
def test_modules_without_adapters_are_refused(change, how, words, play_with) -> None:
    assert refused_by(change, play_with, **how).got == words


@pytest.mark.long
def test_peft_gives_such_a_module(play_with) -> None:
    """A BERT of two small layers: base and embeddings are frozen, A, B of queries and values and the head are sent."""
    peft = pytest.importorskip("peft", reason="needs hekat[lora]")
    transformers = pytest.importorskip("transformers", reason="needs hekat[lora]")
    layers = {"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16, "hidden_size": 8}

    def play(party: Party) -> dict[str, Any]:
        torch.manual_seed(1)
        config = transformers.BertConfig(vocab_size=30, max_position_embeddings=8, **layers)
        base = transformers.BertForSequenceClassification(config)
        lora = peft.LoraConfig(r=2, target_modules=["query", "value"], task_type="SEQ_CLS")
        module = peft.get_peft_model(base, lora)
        before = {name: values.clone() for name, values in module.state_dict().items()}
        assert hekat.start_adapters(party, module) == 2 * 2 * 2 * (2 * 8) + 2 * 8 + 2
        move(module, float(INDEX[party.name]))
        party.aggregate(module, weight=1)
        assert len(peft.get_peft_model_state_dict(module)) == 2 * 2 * 2 + 2
        after = module.state_dict()
        return {name: (after[name] - before[name]).double().mean().item() for name in before}

    for moved in play_with(play, weight_max=1).results.values():
        for name, step in moved.items():
            trained = "lora_" in name or "classifier.modules_to_save" in name
            assert step == pytest.approx(1.0 if trained else 0.0, abs=1e-3), name
