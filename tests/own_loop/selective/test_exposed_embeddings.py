"""Embeddings of a torch module are masked whole, whatever a mask says, unless the caller lets them go."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.errors import PolicyError
from hekat.own_loop import Party
from hekat.privacy import Mask

torch = pytest.importorskip("torch", reason="needs hekat[torch]")


class Reader(torch.nn.Module):
    """A bag of tokens and a head; with `tied`, the head has the weights of the table, under a second name."""

    def __init__(self, kind: str = "Embedding", tied: bool = False) -> None:
        super().__init__()
        self.table = getattr(torch.nn, kind)(6, 4)
        self.head = torch.nn.Linear(4, 6, bias=False)
        if tied:
            self.head.weight = self.table.weight


def sizes_of(module) -> dict[str, int]:
    return {name: values.numel() for name, values in module.named_parameters()}


def run_with(play_with, make, mask, **others):
    def code(party: Party):
        torch.manual_seed(1)
        return party.aggregate(make(), weight=1, mask=mask, **others)

    return play_with(code, weight_max=1)


@pytest.mark.parametrize("kind", ["Embedding", "EmbeddingBag"])
def test_a_mask_that_leaves_out_a_value_of_a_table_is_refused(kind, play_with) -> None:
    sizes = sizes_of(Reader(kind))
    all_but_one = np.ones(sizes["table.weight"], bool)
    all_but_one[-1] = False
    mask = Mask.from_arrays({"table.weight": all_but_one})
    with pytest.raises(PolicyError, match=r"an embedding would leave in the clear.*leaves out values of table\.weight"):
        run_with(play_with, lambda: Reader(kind), mask)
    assert run_with(play_with, lambda: Reader(kind), mask, expose_embeddings=True).costs.rounds[0].clear_count == 1


def test_a_table_that_is_masked_whole_passes(play_with) -> None:
    sizes = sizes_of(Reader())
    for mask in (
        Mask.from_arrays({"table.weight": np.ones(24, bool), "head.weight": np.zeros(24, bool)}),
        Mask.nothing({"head.weight": sizes["head.weight"]}),
    ):
        assert run_with(play_with, Reader, mask).costs.rounds[0].clear_count == 24


def test_a_table_is_found_under_its_second_name(play_with) -> None:
    def make():
        return Reader(tied=True)

    for name in ("table.weight", "head.weight"):
        with pytest.raises(PolicyError, match="an embedding would leave in the clear"):
            run_with(play_with, make, Mask.nothing({name: 24}))


class HeadFirst(torch.nn.Module):
    """The table is the second name of the head's weights."""

    def __init__(self) -> None:
        super().__init__()
        self.head = torch.nn.Linear(4, 6, bias=False)
        self.table = torch.nn.Embedding(6, 4)
        self.table.weight = self.head.weight


@pytest.mark.parametrize("name", ["head.weight", "table.weight"])
def test_a_table_that_is_the_second_name_is_found(name, play_with) -> None:
    with pytest.raises(PolicyError, match="an embedding would leave in the clear"):
        run_with(play_with, HeadFirst, Mask.nothing({name: 24}))


def test_a_table_that_is_frozen_is_not_sent(play_with) -> None:
    def make():
        module = Reader()
        module.table.weight.requires_grad = False
        return module

    mask = Mask.nothing({"table.weight": 24, "head.weight": 24})
    assert run_with(play_with, make, mask).costs.rounds[0].clear_count == 24


def test_a_table_behind_a_parametrisation_is_found(play_with) -> None:
    def make():
        module = Reader()
        torch.nn.utils.parametrizations.weight_norm(module.table)
        return module

    mask = Mask.nothing({name: size for name, size in sizes_of(make()).items() if name.startswith("table")})
    with pytest.raises(PolicyError, match="an embedding would leave in the clear"):
        run_with(play_with, make, mask)


class BesideTable(torch.nn.Module):
    """A frozen table in the wrapper that peft puts around it, with LoRA's factors, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Module()
        self.table.base_layer = torch.nn.Embedding(6, 4).requires_grad_(False)
        self.table.lora_embedding_A = torch.nn.ParameterDict({"default": torch.zeros(2, 6)})
        self.table.lora_embedding_B = torch.nn.ParameterDict({"default": torch.zeros(4, 2)})
        self.table.delta = torch.nn.Parameter(torch.zeros(3, 4))
        self.head = torch.nn.Linear(4, 6, bias=False)


@pytest.mark.parametrize("name", ["lora_embedding_A.default", "lora_embedding_B.default", "delta"])
def test_what_adapts_a_frozen_table_is_one_too(name, play_with) -> None:
    mask = Mask.nothing({f"table.{name}": sizes_of(BesideTable())[f"table.{name}"]})
    with pytest.raises(PolicyError, match=rf"an embedding would leave .*values of table\.{name}"):
        run_with(play_with, BesideTable, mask)


def test_factors_beside_a_table_are_found_by_their_names(play_with) -> None:
    def make():
        module = BesideTable()
        del module.table.base_layer
        return module

    with pytest.raises(PolicyError, match="an embedding would leave in the clear"):
        run_with(play_with, make, Mask.nothing({"table.lora_embedding_A.default": 12}))
