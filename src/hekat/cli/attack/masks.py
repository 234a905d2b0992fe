"""The masks that `hekat attack` compares: none, a share by map or at random, layers by name, a saved one, a run's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from hekat.cli.attack.command_words import in_words_of_the_command
from hekat.data.sources.source_file import readable_file
from hekat.errors import HekatError, InputError
from hekat.privacy import Mask, MaskRules, SensitivityMap, choose_mask, sensitivity_map
from hekat.privacy.attacks import AttackedModel
from hekat.run.horizontal.saved_mask import load_saved_mask
from hekat.select_names import select_names
from hekat.wire import from_bytes

DEFAULT_MASKS = ("none", "p=0.1,random", "p=0.1,map")
_FORMS = (
    "none, p=0.1,map, p=0.1,random, layers=GLOB[;GLOB], the file of a saved mask, or the folder or checkpoint of a run "
    "that masks a part"
)
_CHECKPOINT_ENDING = ".npz"


@dataclass(frozen=True)
class NamedMask:
    """`name` as the command gave it; `mask`, the masked values; `about`, how it was made, in words."""

    name: str
    mask: Mask
    about: str


def make_masks(
    texts: Sequence[str], model: AttackedModel, rows: Any, labels: Any, *, seed: int, expose_embeddings: bool
) -> tuple[NamedMask, ...]:
    """The masks that the texts name, each once; maps are of all `rows`, at most 256. Raises InputError.

    `expose_embeddings`: leave tables of embeddings to the map, as a job does only where it says so.
    """
    sizes = {name: tensor.numel() for name, tensor in model.parameters.items()}
    maps = _Maps(model, rows, labels, seed, expose_embeddings)
    shapes = {name: tuple(tensor.shape) for name, tensor in model.parameters.items()}
    return tuple(
        _load(text, shapes) if _is_path(text) else _make(text, sizes, maps, seed) for text in dict.fromkeys(texts)
    )


def _is_path(text: str) -> bool:
    return text != "none" and not text.startswith(("layers=", "p="))


class _Maps:
    """The sensitivity map of the rows, computed where a mask asks for it, once."""

    def __init__(self, model: AttackedModel, rows: Any, labels: Any, seed: int, expose_embeddings: bool) -> None:
        self._asked = (model.module, rows, labels)
        self._seed = seed
        self._found: SensitivityMap | None = None
        self.expose_embeddings = expose_embeddings

    def of_rows(self) -> SensitivityMap:
        if self._found is None:
            self._found = sensitivity_map(*self._asked, seed=self._seed)
        return self._found


def _make(text: str, sizes: Mapping[str, int], maps: _Maps, seed: int) -> NamedMask:
    if text == "none":
        return NamedMask(text, Mask.nothing(sizes), "nothing masked")
    if text.startswith("layers="):
        names = select_names(list(sizes), text.removeprefix("layers=").split(";"))
        chosen = {name: np.full(size, name in names) for name, size in sizes.items()}
        return NamedMask(text, Mask.from_arrays(chosen), f"whole tensors: {', '.join(names)}")
    share, _, rule = text.removeprefix("p=").partition(",")
    rules = _rules_of(text, share)
    if rule == "random":
        mask = _random_mask(sizes, rules.count_of(sum(sizes.values())), seed)
        return NamedMask(text, mask, "values at random")
    if rule == "map":
        about = "the most sensitive values of these rows"
        if maps.expose_embeddings:
            rules = replace(rules, expose_embeddings=True)
            about += ", embeddings left to the map: a job masks them whole unless it says expose_embeddings"
        return NamedMask(text, choose_mask(maps.of_rows(), rules), about)
    raise _refusal(text, f"unknown rule {rule!r}" if rule else "no rule after p")


def _load(text: str, shapes: Mapping[str, tuple[int, ...]]) -> NamedMask:
    """A saved mask, or the mask in a run's checkpoint."""
    path = Path(text)
    if not path.exists():
        raise _refusal(text, "no such file")
    if path.is_dir() or path.suffix == _CHECKPOINT_ENDING:
        return NamedMask(text, load_saved_mask(path, shapes), "the mask of a run, from its checkpoint")
    with in_words_of_the_command(), readable_file(path):
        data = path.read_bytes()
    try:
        mask = from_bytes(data, Mask)
    except HekatError as error:
        raise InputError(
            f"{path} holds no mask", expected=_FORMS, got=error.what, cure="correct --mask, or save the mask again"
        ) from error
    mask.check_sizes({name: prod(shape) for name, shape in shapes.items()})
    return NamedMask(text, mask, "a saved mask")


def _rules_of(text: str, share: str) -> MaskRules:
    """The rules of a job that masks this share, tables of embeddings whole. Raises InputError."""
    try:
        found = float(share)
    except ValueError:
        raise _refusal(text, f"p = {share!r}") from None
    if not 0 < found <= 1:
        raise InputError(
            "no mask has such a share",
            expected="p above 0 and at most 1",
            got=f"p = {share}",
            cure="p=0.1 masks a tenth of the values; for no mask say none",
        )
    return MaskRules(found)


def _random_mask(sizes: Mapping[str, int], count: int, seed: int) -> Mask:
    flags = np.zeros(sum(sizes.values()), dtype=np.bool_)
    flags[np.random.default_rng(seed).permutation(len(flags))[:count]] = True
    return Mask(sizes, np.packbits(flags, bitorder="little"))


def _refusal(text: str, got: str) -> InputError:
    return InputError(
        f"there is no mask {text!r}", expected=_FORMS, got=got, cure="correct --mask; it may be given several times"
    )
