"""The parts of the roles that play a joint prediction: they are of one model, and say the same of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hekat.data import ColumnSpecs
from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import StateError
from hekat.protocol.encrypted_model.set_up.facts import ModelFacts
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.run.encrypted_model.kept_part import KeptPart, load_kept_part
from hekat.run.predictions import KEPT_FOLDER, source_columns_of


def load_kept_parts(run_folder: Path, roles: Collection[str]) -> dict[str, KeptPart]:
    """The part of each of `roles`, by name. Raises StateError where one is missing or not of the others' model."""
    parts = {role: load_kept_part(run_folder, role) for role in roles}
    first, *others = parts.values()
    for other in others:
        unlike = _unlike(first, other)
        if unlike:
            raise StateError(
                f"parts in {run_folder / KEPT_FOLDER} are not of one model",
                expected=f"the same {', '.join(unlike)} in the parts of {first.role} and {other.role}",
                got="others",
                cure="put the run's folder back as it was left, or train again",
            )
    return parts


def settings_of(run_folder: Path) -> EncryptedModelSettings:
    """The settings of the model that parts in a run's folder are of. Raises StateError where there is none."""
    folder = run_folder / KEPT_FOLDER
    with disk_errors_as_state_errors(f"{folder} cannot be read"):
        roles = sorted(path.stem for path in folder.glob("*.npz"))
    if not roles:
        raise StateError(
            f"{run_folder} holds no part of a model",
            expected=f"parts in {KEPT_FOLDER}/, of a run that finished",
            got="none",
            cure="if the run stopped early, go on with: hekat run JOB --resume RUN",
        )
    return load_kept_part(run_folder, roles[0]).settings


@dataclass(frozen=True)
class ModelColumns:
    """How a host reads new rows: the columns of the model and how they are encoded."""

    columns: tuple[str, ...]
    classes: tuple[str, ...] | None
    column_specs: ColumnSpecs
    sparse: bool = False

    @classmethod
    def of(cls, part: KeptPart) -> ModelColumns:
        """The columns that a host's part knows."""
        assert part.facts is not None  # reading refuses a host's part without
        return cls(part.facts.columns, part.settings.classes, part.column_specs)

    @property
    def source_columns(self) -> tuple[str, ...]:
        """The columns that a table has before they are encoded."""
        return source_columns_of(self.columns, self.column_specs)


def _unlike(first: KeptPart, other: KeptPart) -> list[str]:
    names = [name for name in ("model_id", "settings", "column_specs") if getattr(first, name) != getattr(other, name)]
    if first.column_count != other.column_count:
        names.append("columns")
    elif first.facts is not None and other.facts is not None and not _are_same(first.facts, other.facts):
        names.append("columns, means and spreads")
    return names


def _are_same(first: ModelFacts, other: ModelFacts) -> bool:
    return (
        first.columns == other.columns
        and first.moments.row_count == other.moments.row_count
        and np.array_equal(first.moments.means, other.moments.means)
        and np.array_equal(first.moments.spreads, other.moments.spreads)
    )
