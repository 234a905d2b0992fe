"""What scikit-learn reaches with all rows in one place, which is what nobody may do: the figure to be held against."""

from __future__ import annotations

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.first_day.visits import HEADER, PARTIES

NUMBERS = ["age", "balance", "duration", "campaign"]
TEXTS = ["occupation", "school", "month", "outcome"]
UNKNOWN = ("", "NA", "?")


def pooled_auc(tables: dict[str, list[list[str]]]) -> float:
    """AUC on the new rows of a logistic regression over the joined rows of all parties."""
    train = [row for party in PARTIES for row in tables[party]]
    model = make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), list(range(len(NUMBERS)))),
            (OneHotEncoder(handle_unknown="ignore"), list(range(len(NUMBERS), len(NUMBERS) + len(TEXTS)))),
        ),
        LogisticRegression(max_iter=1000),
    )
    model.fit(features(train), labels(train))
    return float(roc_auc_score(labels(tables["new"]), model.predict_proba(features(tables["new"]))[:, 1]))


def features(rows: list[list[str]]) -> np.ndarray:
    """Numbers first, then texts, as objects; an unknown number is nan, an unknown text a text of its own."""
    columns = [[number(row[HEADER.index(name)]) for row in rows] for name in NUMBERS]
    columns += [[mark(row[HEADER.index(name)]) for row in rows] for name in TEXTS]
    return np.array(columns, dtype=object).T


def labels(rows: list[list[str]]) -> np.ndarray:
    """1 for a yes, else 0."""
    return np.array([row[-1] == "yes" for row in rows], dtype=int)


def number(cell: str) -> float:
    """A cell's number, or nan."""
    return float("nan") if cell in UNKNOWN else float(cell)


def mark(cell: str) -> str:
    """A cell's text, or one text for all that are not known."""
    return "unknown" if cell in UNKNOWN else cell
