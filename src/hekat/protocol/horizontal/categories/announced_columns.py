"""What the aggregator is told of columns whose categories the parties found: how many there are, and no text."""

from __future__ import annotations

from collections.abc import Sequence

from hekat.data.columns.found import Vocabulary


def announced_columns(feature_names: Sequence[str], vocabulary: Vocabulary) -> list[str]:
    """The names with NAME=#1, NAME=#2 and so on in place of the categories of the vocabulary."""
    numbered = {
        f"{column}={text}": f"{column}=#{number}"
        for column, texts in vocabulary.items()
        for number, text in enumerate(texts, 1)
    }
    return [numbered.get(name, name) for name in feature_names]
