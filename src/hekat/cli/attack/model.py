"""The module that `hekat attack` is given: a function in a Python file, as sites name it, and weights from a file."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hekat.cli.attack.command_words import in_words_of_the_command
from hekat.cli.attack.rows import LoadedRows
from hekat.data.sources.site_function import SiteFunction, describe_failure, load_function
from hekat.data.sources.source_file import readable_file
from hekat.errors import InputError
from hekat.job.model_source import find_model_source
from hekat.job.site_file import load_site
from hekat.privacy.attacks import AttackedModel
from hekat.torch_library import import_torch, seeded

_RETURNS = "a torch.nn.Module"


@dataclass(frozen=True)
class LoadedModel:
    """`attacked`, the function's text, the SHA-256 (hex) of its file, and how many values the trained tensors have."""

    attacked: AttackedModel
    function: str
    code: str
    value_count: int


def load_model(options: argparse.Namespace, rows: LoadedRows) -> LoadedModel:
    """The module for such rows, with the weights that the options name. Raises InputError."""
    row_shape, labels = rows.features.shape[1:], rows.labels
    function, arguments = _find_function(options)
    offered = {"column_count": math.prod(row_shape), "output_count": int(labels.max()) + 1 if len(labels) else 1}
    taken = {key: value for key, value in offered.items() if function.takes(key) and key not in arguments}
    words = in_words_of_the_command if options.site is None else nullcontext
    with words(), seeded(options.seed):
        module = function.call({**arguments, **taken})
    torch = import_torch()
    if not isinstance(module, torch.nn.Module):
        raise InputError(
            f"{function.text} returns no module",
            expected=_RETURNS,
            got=type(module).__name__,
            cure="return the module itself",
        )
    first = torch.from_numpy(rows.features[:1])
    with _forward_failures(function, row_shape), torch.no_grad(), seeded(options.seed):
        module.eval()(first)  # lazy layers then know their sizes
    if options.weights is not None:
        with in_words_of_the_command():
            _load_weights(module, options.weights)
    attacked = AttackedModel(module.float())
    with _forward_failures(function, row_shape):
        class_count = attacked.class_count(first)
    _check_labels(labels, class_count)
    return LoadedModel(
        attacked, function.text, function.code, sum(tensor.numel() for tensor in attacked.parameters.values())
    )


def _find_function(options: argparse.Namespace) -> tuple[SiteFunction, Mapping[str, Any]]:
    if options.site is not None:
        site = load_site(options.site)
        source = find_model_source({}, site.common_models, options.model, hekats=())
        return load_function(source.function, site.folder, returns=_RETURNS, example="net:build"), source.arguments
    file, _, name = options.model.rpartition(":")
    path = Path(file)
    if not name.isidentifier() or path.suffix != ".py" or not path.stem.isidentifier():
        raise InputError(
            "the model is not written as FILE.py:FUNCTION",
            expected="for example net.py:build, or with --site a name under common_models",
            got=repr(options.model),
            cure="name a Python file and a function in it that returns a torch.nn.Module",
        )
    with in_words_of_the_command():
        function = load_function(f"{path.stem}:{name}", path.parent, returns=_RETURNS, example="net:build")
    return function, {}


@contextmanager
def _forward_failures(function: SiteFunction, row_shape: tuple[int, ...]) -> Iterator[None]:
    """A block in which whatever the module raises becomes an InputError with its type and line, without its text."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"the module of {function.text} takes no such rows",
            expected=f"a module that takes rows of shape {row_shape}",
            got=describe_failure(error, function.path),
            cure="give rows in the shape that the module takes: in a .npz file features may have any number of axes; "
            "or let the module unflatten them",
        ) from error


def _load_weights(module: Any, path: Path) -> None:
    """Put the tensors of a .safetensors file, or of a .pt file that holds tensors alone, into the module."""
    torch = import_torch()
    with readable_file(path):
        try:
            if path.suffix == ".safetensors":
                from safetensors.torch import load_file

                tensors = load_file(path)
            else:
                tensors = torch.load(path, map_location="cpu", weights_only=True)
            module.load_state_dict(tensors)
        except OSError:
            raise
        except Exception as error:
            raise InputError(
                f"the weights in {path} are none of this module",
                expected="a state dict with the module's names and shapes, in a .safetensors file, or saved by "
                "torch.save(module.state_dict(), path)",
                got=type(error).__name__,
                cure="save the weights of this very module",
            ) from None


def _check_labels(labels: Any, class_count: int) -> None:
    if len(labels) and (labels.min() < 0 or labels.max() >= class_count):
        raise InputError(
            "labels do not fit the module",
            expected=f"whole numbers from 0 to {class_count - 1}, since the module has {class_count} classes",
            got=f"labels from {labels.min()} to {labels.max()}",
            cure="number the classes from 0, or give the module an output for each",
        )
