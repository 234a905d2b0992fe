"""What peft trains beside a table of embeddings is found as the table is, and masked whole by maps."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.privacy import MaskRules, choose_mask, sensitivity_map
from hekat.privacy.embeddings import embeddings_of

torch = pytest.importorskip("torch", reason="needs hekat[torch]")


class Reader(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.table, self.head = torch.nn.Embedding(9, 4), torch.nn.Linear(4, 3)

    def forward(self, tokens):
        return self.head(self.table(tokens).mean(dim=1))


class Adapted(torch.nn.Module):
    """LoRA's factors beside the frozen table, in the wrapper and by the names that peft has for them."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.table = torch.nn.Module()
        self.table.base_layer = torch.nn.Embedding(9, 4).requires_grad_(False)
        self.table.lora_embedding_A = torch.nn.ParameterDict({"default": torch.zeros(2, 9)})
        self.table.lora_embedding_B = torch.nn.ParameterDict({"default": torch.randn(4, 2)})
        self.head = torch.nn.Linear(4, 3)

    def forward(self, tokens):
        factors = self.table.lora_embedding_B["default"] @ self.table.lora_embedding_A["default"]
        return self.head((self.table.base_layer(tokens) + factors.T[tokens]).mean(dim=1))


FACTORS = {"table.lora_embedding_A.default": 18, "table.lora_embedding_B.default": 8}


def test_a_map_masks_the_factors_whole() -> None:
    tokens, labels = torch.tensor([[1, 2], [3, 4]]), np.array([0, 2])
    found = sensitivity_map(Adapted(), tokens, labels, mode="label", seed=1)
    assert set(found.embeddings) == FACTORS.keys()
    mask = choose_mask(found, MaskRules(0.7))
    assert {name: int(mask.chosen(name).sum()) for name in FACTORS} == FACTORS


@pytest.mark.long
def test_peft_names_and_wraps_them_so() -> None:
    peft = pytest.importorskip("peft", reason="needs hekat[lora]")
    module = peft.get_peft_model(Reader(), peft.LoraConfig(r=2, target_modules=["table", "head"]))
    trained = {name for name, one in module.named_parameters() if one.requires_grad}
    stem = "base_model.model"
    assert trained & embeddings_of(module) == {f"{stem}.{name}" for name in FACTORS}
    assert len(trained) == 4
    tokens = peft.TrainableTokensConfig(token_indices=[1, 2], target_modules=["table"])
    changed = peft.get_peft_model(Reader(), tokens)
    trained = {name for name, one in changed.named_parameters() if one.requires_grad}
    assert trained
    assert trained <= embeddings_of(changed)


def test_factors_that_lie_apart_from_their_table_are_found_by_their_names() -> None:
    module = Reader()
    module.lora_embedding_B = torch.nn.ParameterDict({"default": torch.zeros(4, 2)})
    assert embeddings_of(module) == {"table.weight", "lora_embedding_B.default"}
