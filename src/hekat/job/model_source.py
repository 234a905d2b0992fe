"""Where a site keeps the code of a model that a job names: read from the site file, found, called and checked."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from hekat.data.sources.site_function import describe_failure, load_function
from hekat.errors import InputError, JobError
from hekat.job.section import Section
from hekat.model import MODEL_NAMES, Model
from hekat.model.torch_model import TorchModel
from hekat.torch_library import seeded

_RETURNS = "a torch.nn.Module, or an object with all that hekat.model.Model has"
_MEMBERS = tuple(name for name in vars(Model) if not name.startswith("_"))


@dataclass(frozen=True)
class ModelSource:
    """A function of the site's own and the arguments that the site gives it."""

    function: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PartyModel:
    """A model, and the SHA-256 (hex) of the file whose code made it; empty for a model of Hekat's own."""

    model: Model
    code: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of a report has to know of it; nothing of a model of Hekat's own."""
        if not self.code:
            return ()
        whose = f"model {self.model.name} is code of the sites' own, the same at every party: SHA-256 {self.code}"
        local = self.model.local if isinstance(self.model, TorchModel) else ()
        kept = f"tensors of whole numbers stay at each party and begin anew in the model files: {', '.join(local)}"
        return (whose, kept) if local else (whose,)


def read_model_sources(section: Section) -> dict[str, ModelSource]:
    """The models of one table of the site file, by the name that jobs know them under. Raises JobError."""
    sources = {}
    for name, source in section.take_sections().items():
        if name in MODEL_NAMES:
            raise JobError(
                f"{source.place} has the name of one of Hekat's own models",
                expected=f"another name than {', '.join(MODEL_NAMES)}",
                got=name,
                cure="rename it in the site file and in the job",
            )
        sources[name] = ModelSource(source.take("function", str), source.take("arguments", dict, {}))
        source.finish()
    return sources


def find_model_source(
    own: Mapping[str, ModelSource],
    common: Mapping[str, ModelSource],
    name: str,
    *,
    hekats: Sequence[str] = tuple(MODEL_NAMES),
) -> ModelSource:
    """The code of the model that a job calls `name`: the party's own, else the common one.

    Raises JobError with these names and `hekats`, which need no code.
    """
    known = {**common, **own}
    if name in known:
        return known[name]
    names = [*hekats, *sorted(known)]
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    raise JobError(
        "there is no such model",
        expected=f"one of {', '.join(names)}" if names else "a model of the site, which has none",
        got=repr(name),
        cure=(f"did you mean {close[0]!r}? Else " if close else "")
        + f"name its code in the site file: [common_models.{name}] with function = 'module:function'",
    )


def load_own_model(
    name: str, source: ModelSource, folder: Path, *, column_count: int, class_count: int | None, l2: float = 0.0
) -> PartyModel:
    """The model that the site's function makes for tables of `column_count` columns; without classes a regression.

    The function is given the site's arguments, and column_count and output_count where it declares them. Raises
    InputError for a function that raises, or returns what is no model of this form.
    """
    function = load_function(source.function, folder, returns=_RETURNS, example="net:build")
    offered = {"column_count": column_count, "output_count": 1 if class_count is None else class_count}
    taken = {key: value for key, value in offered.items() if function.takes(key) and key not in source.arguments}
    arguments = {**source.arguments, **taken}
    with seeded(0):  # parties in other threads may be making theirs
        made = function.call(arguments)
    if not hasattr(made, "state_dict"):
        _check_model(name, made, class_count=class_count, l2=l2)
        return PartyModel(made, function.code)
    model = TorchModel(
        name,
        lambda: function.call(arguments),
        column_count=column_count,
        class_count=class_count,
        l2=l2,
        describe_failure=partial(describe_failure, path=function.path),
    )
    return PartyModel(model, function.code)


def _check_model(name: str, made: Any, *, class_count: int | None, l2: float) -> None:
    """Raise InputError for an object that is no model, or that was made for another task or penalty than the job's."""
    lacking = [member for member in _MEMBERS if not hasattr(made, member)]
    if lacking:
        raise InputError(
            f"the function of model {name} returns no model",
            expected=_RETURNS,
            got=f"{type(made).__name__}, without {', '.join(lacking[:5])}",
            cure="return the module itself",
        )
    task = "regression" if class_count is None else "classification"
    if made.task != task or made.l2 != l2:
        raise InputError(
            f"model {name} was made for another job",
            expected=f"task {task!r} and l2 {l2:g}, as in the job",
            got=f"task {made.task!r} and l2 {made.l2:g}",
            cure="correct the model's arguments in the site file, or the job",
        )
