"""Texts of `hekat attack`: the tokens that an embedding's gradient tells at a mask, rare ones apart."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hekat.cli.attack.rows import LoadedRows
from hekat.cli.attack.sent import sent_update
from hekat.privacy import Mask
from hekat.privacy.attacks import AttackedModel, LabelReading, LastLayer, VisibleUpdate, read_labels
from hekat.privacy.attacks.cell_scores import share_of_tokens_read
from hekat.privacy.attacks.tokens import embeddings_of, read_all_tokens
from hekat.privacy.attacks.trial import Trial
from hekat.torch_library import import_torch


def read_texts(
    options: argparse.Namespace, model: AttackedModel, rows: LoadedRows, taken: Sequence[int], mask: Mask
) -> tuple[Trial, list[dict[str, Any]]]:
    """What is read of one update without any search, and the scores of each of its rows."""
    torch = import_torch()
    begun = time.process_time()
    numbers = list(taken)
    given = torch.from_numpy(rows.features[numbers]), torch.from_numpy(rows.labels[numbers])
    sent = sent_update(options)
    see = VisibleUpdate.adaptive if options.attacker == "adaptive" else VisibleUpdate.naive
    seen = see(sent.of(model, *given, differentiable=False), mask)
    found = read_all_tokens(model, seen)
    layer = LastLayer.of(model)
    reading = LabelReading.unread(model.class_count(given[0]))
    if layer is not None:
        reading = read_labels(layer, replace(seen, values=sent.as_gradient(seen.values)), len(numbers))
    trial = Trial(None, reading, None, None, (), time.process_time() - begun)
    if mask.chosen_count == mask.value_count:
        return trial, [{} for _ in numbers]
    vocabulary = max(int(model.parameters[name].shape[0]) for name in embeddings_of(model))
    return trial, [_scores(rows, row, found, vocabulary) for row in numbers]


def _scores(rows: LoadedRows, row: int, found: Sequence[int], vocabulary: int) -> dict[str, Any]:
    """Shares of all tokens of a row, and of those that no other row has; as many guessed tokens are the floor."""
    tokens = set(rows.features[row].tolist())
    others = np.delete(rows.features, row, axis=0)
    rare = tokens - set(others.ravel().tolist())
    shares = {"tokens": share_of_tokens_read(tokens, found), "rare": share_of_tokens_read(rare, found)}
    floor = len(found) / vocabulary
    return {name: {"value": s, "floor": floor, "ceiling": 1.0} for name, s in shares.items() if s is not None}
