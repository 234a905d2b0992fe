"""Reads a text off the gradient of its embedding: the rows that are not zero are its tokens."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

import numpy as np

from hekat.errors import InputError
from hekat.privacy.attacks.attacked_model import AttackedModel
from hekat.privacy.attacks.visible_update import VisibleUpdate
from hekat.privacy.embeddings import LORA_TABLE
from hekat.privacy.embeddings import embeddings_of as tables_of

# Orders of tokens that are kept at each step of the search.
_BEAM = 64


def embeddings_of(model: AttackedModel) -> tuple[str, ...]:
    """Names of the trained tensors of the module's tables of embeddings, shape (vocabulary, width) each.

    The factors of an adapter beside a frozen table, which have tokens along another axis, are left out.
    """
    found = tables_of(model.module)
    trained = model.parameters.items()
    return tuple(name for name, one in trained if name in found and one.ndim == 2 and LORA_TABLE not in name)


def read_tokens(seen: VisibleUpdate, embedding: str) -> tuple[int, ...]:
    """The tokens of a text, or of all texts of a batch: rows of the embedding with a visible value that is not 0.

    Args:
        seen: The update, at the mask.
        embedding: The name of the embedding's tensor, as `embeddings_of` gives it.

    Returns:
        Token numbers, ascending, each once. No other token is among them, unless the output layer shares the
        embedding's tensor, whose rows are then all moved.
    """
    moved = (seen.values[embedding] != 0).any(dim=1)
    return tuple(int(token) for token in moved.nonzero().flatten())


def read_all_tokens(model: AttackedModel, seen: VisibleUpdate) -> tuple[int, ...]:
    """The tokens that any embedding of the module tells.

    Args:
        model: The model at the round's start.
        seen: The update, at the mask.

    Returns:
        Token numbers, ascending, each once.

    Raises:
        InputError: The module trains no embedding.
    """
    tables = embeddings_of(model)
    if not tables:
        raise InputError(
            "the module trains no embedding",
            expected="a torch.nn.Embedding whose weights require a gradient",
            got="none",
            cure="texts are read off an embedding's gradient: attack another module, or its inputs as numbers",
        )
    return tuple(sorted({token for table in tables for token in read_tokens(seen, table)}))


def bigram_costs(texts: Sequence[Sequence[int]], vocabulary: Collection[int]) -> Mapping[tuple[int, int], float]:
    """What it costs that one token follows another: -log of the share with which it does in `texts`, one added to
    every count.

    Args:
        texts: Token numbers of public texts.
        vocabulary: The tokens that costs are wanted for; others are passed over.

    Returns:
        A cost for each ordered pair of `vocabulary`.
    """
    places = {token: place for place, token in enumerate(sorted(set(vocabulary)))}
    counts = np.ones((len(places), len(places)))
    for text in texts:
        for first, second in pairwise(text):
            if first in places and second in places:
                counts[places[first], places[second]] += 1
    costs = -np.log(counts / counts.sum(axis=1, keepdims=True))
    return {(a, b): float(costs[i, j]) for a, i in places.items() for b, j in places.items()}


def order_tokens(tokens: Collection[int], costs: Mapping[tuple[int, int], float]) -> tuple[int, ...]:
    """The cheapest order of a bag of tokens by a beam search: a prior of word pairs, and no language model.

    Args:
        tokens: The bag, each token once.
        costs: Of each ordered pair, as `bigram_costs` gives them.

    Returns:
        All tokens of the bag.

    Source: Balunovic et al., LAMP (2022), section 4.2, which takes the perplexity of a language model.
    """
    bag = frozenset(tokens)
    beam: list[tuple[float, tuple[int, ...]]] = [(0.0, (token,)) for token in sorted(bag)]
    for _ in range(len(bag) - 1):
        longer = [
            (cost + costs[order[-1], token], (*order, token))
            for cost, order in beam
            for token in sorted(bag.difference(order))
        ]
        beam = sorted(longer)[:_BEAM]
    return min(beam)[1] if beam else ()
