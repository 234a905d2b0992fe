"""What is read without any search: labels off the last layer, tokens off an embedding, at shares masked by map."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from hekat.privacy import MaskRules, choose_mask, sensitivity_map
from hekat.privacy.attacks import AttackedModel, LastLayer, VisibleUpdate, read_label
from hekat.privacy.attacks.cell_scores import share_of_tokens_read
from hekat.privacy.attacks.tokens import read_tokens
from inversion.subjects import MAP_ROWS, Pictures

SHARES = (0.1, 0.3, 0.5)
MODES = ("exact", "random", "label")
VOCABULARY, WIDTH, LENGTH, TEXTS = 5000, 64, 20, 100
# Tokens beyond this rank are rare: names, doses, places.
_RARE_FROM = 1000


def read_all_labels(model: AttackedModel, pictures: Pictures) -> list[dict[str, Any]]:
    """A row for each mode of map and share: labels read of as many pictures, and how many classes are left else."""
    layer = LastLayer.of(model)
    assert layer is not None  # the LeNet ends in one
    updates = [
        model.gradient(pictures.rows[place : place + 1], pictures.labels[place : place + 1])
        for place in range(len(pictures.rows))
    ]
    order = np.random.default_rng(0).permutation(len(pictures.rows))[:MAP_ROWS]
    rows = []
    for mode in MODES:
        found = sensitivity_map(
            model.module, pictures.rows[order], pictures.labels[order], mode=mode, row_count=MAP_ROWS
        )
        for share in SHARES:
            mask = choose_mask(found, MaskRules(share))
            readings = [read_label(layer, VisibleUpdate.adaptive(update, mask)) for update in updates]
            truth = [(int(label),) for label in pictures.labels]
            rows.append(
                {
                    "part": "labels",
                    "mode": mode,
                    "share": share,
                    "pictures": len(updates),
                    "read": sum(one.labels == label for one, label in zip(readings, truth, strict=True)),
                    "wrong": sum(one.labels not in (None, label) for one, label in zip(readings, truth, strict=True)),
                    "classes_left": max(len(one.candidates) for one in readings),
                }
            )
    return rows


class Texts(torch.nn.Module):
    """An embedding, one layer of attention, and two classes of texts."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.mix = torch.nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True)
        self.top = torch.nn.Linear(WIDTH, 2)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        mixed: torch.Tensor = self.mix(self.words(tokens))
        logits: torch.Tensor = self.top(mixed.mean(dim=1))
        return logits


def read_all_texts() -> list[dict[str, Any]]:
    """A row for each share: the tokens read of made sentences, rare ones apart; and the rule that masks embeddings
    whole."""
    dice = np.random.default_rng(1)
    weights = 1 / np.arange(1, VOCABULARY + 1)
    sentences = torch.from_numpy(dice.choice(VOCABULARY, size=(2 * TEXTS, LENGTH), p=weights / weights.sum()))
    labels = torch.from_numpy(dice.integers(0, 2, 2 * TEXTS))
    model = AttackedModel(Texts())
    found = sensitivity_map(model.module, sentences[TEXTS:], labels[TEXTS:], row_count=TEXTS)
    rows = []
    for share in (0.0, *SHARES):
        rules = MaskRules(share or 0.1, expose_embeddings=True)
        mask = choose_mask(found, rules) if share else None
        every, rare, wrong = [], [], 0
        for place in range(TEXTS):
            update = model.gradient(sentences[place : place + 1], labels[place : place + 1])
            seen = VisibleUpdate(update, update) if mask is None else VisibleUpdate.adaptive(update, mask)
            tokens = read_tokens(seen, "words.weight")
            true = sentences[place].tolist()
            every.append(share_of_tokens_read(true, tokens))
            rare.append(share_of_tokens_read([token for token in true if token >= _RARE_FROM], tokens))
            wrong += len(set(tokens) - set(true))
        rows.append(
            {
                "part": "texts",
                "share": share,
                "texts": TEXTS,
                "tokens_read": _mean(every),
                "rare_read": _mean(rare),
                "false_tokens": wrong,
            }
        )
    return rows


def _mean(shares: list[float | None]) -> float:
    return round(float(np.mean([share for share in shares if share is not None])), 4)
