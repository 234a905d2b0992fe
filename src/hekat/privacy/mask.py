"""A mask: which coordinates of named tensors are chosen, one bit each."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError, WireCorruptError
from hekat.wire.kinds import Kind, ReadingContext, register
from hekat.wire.residues import check_names

BoolArray = npt.NDArray[np.bool_]
Scalar = TypeVar("Scalar", bound=np.generic)

PIECE_VALUES = 1 << 15
"""Coordinates looked at together: so many float64 stay in the processor's second cache."""

_DIGEST_LABEL = b"hekat/mask/1"
_NUMBERS = struct.Struct("<QQ")


@dataclass(frozen=True)
class MaskPiece:
    """Coordinates `start` to `stop` of tensor `name`, flattened, and which of them are chosen."""

    name: str
    start: int
    stop: int
    chosen: BoolArray
    """Shape (stop - start,)."""
    chosen_count: int


class Mask:
    """Chosen coordinates of named tensors; it never changes.

    Coordinates are in one order: tensors by name, each flattened row by row. Bit i of the packed bits, the lowest of a
    byte first, says whether coordinate i is chosen; bits beyond the last coordinate are zero. `hekat.wire.to_bytes`
    and `from_bytes` write and read a mask. Compare masks of parties by `digest`.

    Args:
        sizes: how many values each tensor has.
        bits: the packed bits, ceil(d / 8) bytes for d values in all.

    Raises:
        InputError: a size that is none, another number of bytes, or a bit set beyond the last coordinate.

    Examples:
        >>> import numpy as np
        >>> from hekat.privacy.mask import Mask
        >>> values = {"bias": np.array([1.0, 2.0]), "weight": np.array([[3.0, 4.0], [5.0, 6.0]])}
        >>> mask = Mask.from_arrays({"bias": values["bias"] < 2, "weight": values["weight"] > 3})
        >>> mask.chosen_count, mask.value_count
        (4, 6)
        >>> mask.gather(values)
        array([1., 4., 5., 6.])
        >>> (~mask).gather(values)
        array([2., 3.])
    """

    def __init__(self, sizes: Mapping[str, int], bits: bytes | npt.NDArray[np.uint8]) -> None:
        for name, size in sizes.items():
            if (
                not isinstance(name, str)
                or isinstance(size, bool)
                or not isinstance(size, int | np.integer)
                or size < 0
            ):
                raise InputError("a mask's tensor has no size", expected="names, each with a number of values from 0")
        self._sizes = MappingProxyType({name: int(sizes[name]) for name in sorted(sizes)})
        self._value_count = sum(self._sizes.values())
        packed = np.frombuffer(bytes(bits), dtype=np.uint8)
        if packed.size != -(-self._value_count // 8):
            raise InputError(
                "a mask has another number of bits than its tensors have values",
                expected=f"{-(-self._value_count // 8)} bytes for {self._value_count} values",
                got=f"{packed.size} bytes",
            )
        if self._value_count % 8 and packed[-1] >> (self._value_count % 8):
            raise InputError("a mask has bits beyond its last value", expected="zeros there", got="a bit that is set")
        self._packed = packed
        self._chosen_count = int(np.bitwise_count(packed).sum())
        self._starts: dict[str, int] = {}
        start = 0
        for name, size in self._sizes.items():
            self._starts[name], start = start, start + size
        self._ranks: dict[str, npt.NDArray[np.int64]] = {}
        self._complement: Mask | None = None

    @classmethod
    def from_arrays(cls, chosen: Mapping[str, npt.ArrayLike]) -> Mask:
        """The mask of one boolean array a tensor.

        Args:
            chosen: by tensor, booleans of any shape: whether each value is chosen.

        Returns:
            The mask.

        Raises:
            InputError: an array that is not of booleans.

        Examples:
            >>> Mask.from_arrays({"weight": np.array([True, False, True])}).chosen_count
            2
        """
        arrays = {name: np.asarray(values) for name, values in chosen.items()}
        for name, values in arrays.items():
            if values.dtype != np.bool_:
                raise InputError(
                    f"the mask of tensor {name!r} is no array of booleans",
                    expected="dtype bool",
                    got=str(values.dtype),
                    cure="compare: values > threshold gives booleans",
                )
        sizes = {name: values.size for name, values in arrays.items()}
        packed = np.empty(-(-sum(sizes.values()) // 8), dtype=np.uint8)
        written, carry = 0, np.zeros(0, dtype=np.bool_)
        for name in sorted(arrays):
            flat = arrays[name].reshape(-1)
            for start in range(0, flat.size, PIECE_VALUES):
                piece = np.concatenate([carry, flat[start : start + PIECE_VALUES]])
                whole = piece.size // 8
                packed[written : written + whole] = np.packbits(piece[: whole * 8], bitorder="little")
                written, carry = written + whole, piece[whole * 8 :]
        if carry.size:
            packed[written:] = np.packbits(carry, bitorder="little")
        return cls(sizes, packed)

    @classmethod
    def nothing(cls, sizes: Mapping[str, int]) -> Mask:
        """The mask that chooses no value of tensors of these sizes.

        Args:
            sizes: how many values each tensor has.

        Returns:
            The mask.

        Examples:
            >>> Mask.nothing({"weight": 6}).chosen_count
            0
        """
        return cls(sizes, bytes(-(-sum(sizes.values()) // 8)))

    @classmethod
    def everything(cls, sizes: Mapping[str, int]) -> Mask:
        """The mask that chooses every value of tensors of these sizes.

        Args:
            sizes: how many values each tensor has.

        Returns:
            The mask.

        Examples:
            >>> Mask.everything({"weight": 6}).chosen_count
            6
        """
        return ~cls.nothing(sizes)

    @property
    def sizes(self) -> Mapping[str, int]:
        """How many values each tensor has, in the order of the coordinates."""
        return self._sizes

    @property
    def value_count(self) -> int:
        """d: the values of all tensors."""
        return self._value_count

    @property
    def chosen_count(self) -> int:
        """k: the chosen ones of them."""
        return self._chosen_count

    @property
    def packed_bits(self) -> npt.NDArray[np.uint8]:
        """The bits, shape (ceil(d / 8),), not to be written to."""
        return self._packed

    def digest(self, job_digest: bytes) -> bytes:
        """What parties compare: equal only for equal tensors, bits and jobs.

        Args:
            job_digest: of the job that the mask is for, as all its parties have it.

        Returns:
            SHA-256 over a label, the job's digest, d, k, the tensors' names and sizes, and the bits.

        Examples:
            >>> len(Mask.nothing({"weight": 6}).digest(b"job"))
            32
        """
        digest = hashlib.sha256(_DIGEST_LABEL + struct.pack("<Q", len(job_digest)) + job_digest)
        digest.update(_NUMBERS.pack(self._value_count, self._chosen_count))
        for name, size in self._sizes.items():
            encoded = name.encode("utf-8", "surrogatepass")
            digest.update(_NUMBERS.pack(len(encoded), size) + encoded)
        digest.update(self._packed.data)
        return digest.digest()

    def chosen(self, name: str, start: int = 0, stop: int | None = None) -> BoolArray:
        """Which values of a tensor are chosen.

        Args:
            name: the tensor's.
            start: the first value looked at, in the flattened tensor.
            stop: the one after the last; None: the tensor's end.

        Returns:
            Booleans, shape (stop - start,).

        Examples:
            >>> Mask.everything({"weight": 6}).chosen("weight", 4)
            array([ True,  True])
        """
        first = self._starts[name] + start
        count = (self._sizes[name] if stop is None else min(stop, self._sizes[name])) - start
        if count <= 0:
            return np.zeros(0, dtype=np.bool_)
        bits = np.unpackbits(self._packed[first // 8 : -(-(first + count) // 8)], bitorder="little")
        return bits[first % 8 : first % 8 + count].view(np.bool_)

    def ranks(self, name: str) -> npt.NDArray[np.int64]:
        """How many values of a tensor are chosen before each piece of PIECE_VALUES, and in the whole tensor.

        Reckoned once, so that what is chosen is found again from its place among the chosen ones.

        Args:
            name: the tensor's.

        Returns:
            Shape (pieces + 1,): the first is 0, the last the tensor's chosen count; not to be written to.

        Examples:
            >>> Mask.everything({"weight": PIECE_VALUES + 2}).ranks("weight").tolist()
            [0, 32768, 32770]
        """
        if name not in self._ranks:
            starts = range(0, self._sizes[name], PIECE_VALUES)
            counts = [int(np.count_nonzero(self.chosen(name, start, start + PIECE_VALUES))) for start in starts]
            ranks = np.cumsum([0, *counts], dtype=np.int64)
            ranks.flags.writeable = False
            self._ranks[name] = ranks
        return self._ranks[name]

    def pieces(self, piece_values: int = PIECE_VALUES) -> Iterator[MaskPiece]:
        """All coordinates in order, some thousands at a time, no piece in two tensors.

        Args:
            piece_values: how many at most.

        Returns:
            Pieces with their bits, one after the other.

        Examples:
            >>> [(piece.name, piece.start, piece.chosen_count) for piece in Mask.everything({"a": 3, "b": 1}).pieces(2)]
            [('a', 0, 2), ('a', 2, 1), ('b', 0, 1)]
        """
        for name, size in self._sizes.items():
            for start in range(0, size, piece_values):
                chosen = self.chosen(name, start, start + piece_values)
                yield MaskPiece(name, start, start + chosen.size, chosen, int(np.count_nonzero(chosen)))

    def gather(self, tensors: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """The chosen values, in the order of the coordinates.

        Args:
            tensors: an array of any shape for each name, of as many values as the mask has.

        Returns:
            Shape (k,), of a dtype that holds all tensors' values.

        Raises:
            InputError: other tensors, or of other sizes.

        Examples:
            >>> Mask.everything({"weight": 4}).gather({"weight": np.eye(2)})
            array([1., 0., 0., 1.])
        """
        self.check_sizes({name: values.size for name, values in tensors.items()})
        flat = {name: np.reshape(values, -1) for name, values in tensors.items()}
        gathered = np.empty(self._chosen_count, dtype=np.result_type(*flat.values()) if flat else np.float64)
        start = 0
        for piece in self.pieces():
            values = flat[piece.name][piece.start : piece.stop]
            gathered[start : start + piece.chosen_count] = values[piece.chosen]
            start += piece.chosen_count
        return gathered

    def scatter(self, values: npt.NDArray[Any], into: Mapping[str, npt.NDArray[Any]]) -> None:
        """Write chosen values to their places; values that are not chosen stay as they are.

        Args:
            values: shape (k,), as `gather` gives them.
            into: a contiguous array for each name, of as many values as the mask has.

        Raises:
            InputError: another number of values, other tensors, or arrays that do not lie in one piece.

        Examples:
            >>> tensors = {"weight": np.zeros((2, 2))}
            >>> Mask.from_arrays({"weight": np.eye(2) > 0}).scatter(np.array([7.0, 8.0]), tensors)
            >>> tensors["weight"]
            array([[7., 0.],
                   [0., 8.]])
        """
        self.check_sizes({name: array.size for name, array in into.items()})
        if values.shape != (self._chosen_count,) or not all(array.flags.c_contiguous for array in into.values()):
            raise InputError(
                "values cannot be put in their places",
                expected=f"{self._chosen_count} values in one row, and contiguous arrays",
                got=f"values of shape {values.shape}",
            )
        flat = {name: array.reshape(-1) for name, array in into.items()}
        start = 0
        for piece in self.pieces():
            flat[piece.name][piece.start : piece.stop][piece.chosen] = values[start : start + piece.chosen_count]
            start += piece.chosen_count

    def check_sizes(self, sizes: Mapping[str, int]) -> None:
        """Refuse tensors that the mask is not of.

        Args:
            sizes: how many values each tensor has.

        Raises:
            InputError: other names or sizes.

        Examples:
            >>> Mask.everything({"weight": 4}).check_sizes({"weight": 4})
        """
        for name in sorted({*sizes, *self._sizes}):
            own, other = self._sizes.get(name), sizes.get(name)
            if own != other:
                raise InputError(
                    "the mask is of other tensors",
                    expected=f"{_values_of(own)} named {name!r}",
                    got=_values_of(other),
                    cure="make the mask of the tensors that it is used on",
                )

    def __invert__(self) -> Mask:
        """The mask of all other coordinates, made once."""
        if self._complement is None:
            packed = ~self._packed
            if self._value_count % 8:
                packed[-1] &= (1 << (self._value_count % 8)) - 1
            self._complement = Mask(self._sizes, packed)
            self._complement._complement = self
        return self._complement

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mask):
            return NotImplemented
        return self._sizes == other._sizes and bool(np.array_equal(self._packed, other._packed))

    def __hash__(self) -> int:
        return hash((tuple(self._sizes.items()), self._packed.tobytes()))

    def __repr__(self) -> str:
        return f"Mask({self._chosen_count:,} of {self._value_count:,} values in {len(self._sizes):,} tensors)"


def _values_of(size: int | None) -> str:
    return "no tensor" if size is None else f"a tensor of {size:,} values"


def _items_of(mask: Mask) -> dict[str, Any]:
    return {"names": list(mask.sizes), "sizes": list(mask.sizes.values()), "bits": mask.packed_bits.tobytes()}


def _mask_of(items: Any, context: ReadingContext) -> Mask:
    what = "a mask"
    check_names(items, what, ("names", "sizes", "bits"))
    names, sizes, bits = items["names"], items["sizes"], items["bits"]
    if not (
        isinstance(names, list)
        and isinstance(sizes, list)
        and isinstance(bits, bytes)
        and len(names) == len(sizes)
        and all(isinstance(name, str) for name in names)
        and all(names[i] < names[i + 1] for i in range(len(names) - 1))
    ):
        raise WireCorruptError(f"{what} is malformed", expected="names in order, each once, a size for each, and bits")
    try:
        return Mask(dict(zip(names, sizes, strict=True)), bits)
    except InputError as error:
        raise WireCorruptError(error.what, expected=error.expected, got=error.got) from None


register(Kind("privacy/mask", 1, Mask, _items_of, _mask_of))
