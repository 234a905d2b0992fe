"""Tokens read off an embedding's gradient, at masks too, and put into an order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hekat.errors import InputError
from hekat.privacy import Mask
from hekat.privacy.attacks import AttackedModel, VisibleUpdate
from hekat.privacy.attacks.tokens import bigram_costs, embeddings_of, order_tokens, read_all_tokens, read_tokens

torch = pytest.importorskip("torch", reason="needs hekat[torch]")

VOCABULARY, WIDTH = 60, 8


class Sentences(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.words = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.mix = torch.nn.TransformerEncoderLayer(WIDTH, 2, 16, batch_first=True)
        self.top = torch.nn.Linear(WIDTH, 3)

    def forward(self, tokens: Any) -> Any:
        return self.top(self.mix(self.words(tokens)).mean(dim=1))


TEXT = [7, 3, 59, 3, 21, 40]


def seen_of(share: float) -> VisibleUpdate:
    update = AttackedModel(Sentences()).gradient(torch.tensor([TEXT]), torch.tensor([1]))
    dice = np.random.default_rng(5)
    chosen = {name: dice.random(tuple(values.shape)) < share for name, values in update.items()}
    return VisibleUpdate.adaptive(update, Mask.from_arrays(chosen))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_all_tokens_of_a_text_are_read_and_no_other(share: float) -> None:
    assert embeddings_of(AttackedModel(Sentences())) == ("words.weight",)
    assert read_tokens(seen_of(share), "words.weight") == tuple(sorted(set(TEXT)))


def test_a_bag_of_tokens_is_a_table_too() -> None:
    class Bags(Sentences):
        def __init__(self) -> None:
            super().__init__()
            self.bag = torch.nn.EmbeddingBag(VOCABULARY, WIDTH)

    assert embeddings_of(AttackedModel(Bags())) == ("words.weight", "bag.weight")


def test_an_embedding_masked_whole_tells_no_token() -> None:
    assert read_tokens(seen_of(1.0), "words.weight") == ()


def test_all_embeddings_are_read_and_a_module_without_one_is_refused() -> None:
    assert read_all_tokens(AttackedModel(Sentences()), seen_of(0.1)) == tuple(sorted(set(TEXT)))
    with pytest.raises(InputError, match="trains no embedding"):
        read_all_tokens(AttackedModel(torch.nn.Linear(3, 2)), seen_of(0.1))


def test_a_bag_is_put_into_the_order_that_pairs_make_likely() -> None:
    public = [[7, 3, 59, 21], [1, 7, 3, 2], [59, 21, 40], [3, 59, 5]]
    costs = bigram_costs(public, TEXT)
    assert order_tokens(TEXT, costs) == (7, 3, 59, 21, 40)
    assert order_tokens((), costs) == ()
