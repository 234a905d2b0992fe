"""One sum's values in two streams, where a mask divides them: what is masked, and what travels in the clear."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from hekat.codec.clip import FloatArray
from hekat.engine.ring.interface import LevelArray
from hekat.errors import InputError
from hekat.privacy.mask import Mask
from hekat.protocol.secure_sum.aggregation import Aggregate, SumRequest
from hekat.protocol.secure_sum.masked.blocks.chosen_tensor import ChosenTensor
from hekat.protocol.secure_sum.masked.blocks.clear_levels import ClearForm
from hekat.protocol.secure_sum.masked.slot_stream import SlotStream, SumReader
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.streamed_tensor import AnyTensor, SelectableTensor, Tensors, are_floats


@dataclass(frozen=True)
class SumStreams:
    """One sum's layout: public, equal at all parties. The masked stream is of weight, counters and masked values.

    Without a mask nothing is in the clear. Otherwise both streams read the request's tensors, in the order of their
    coordinates, and write its means: of arrays into `results`.
    """

    whole: SlotStream
    masked: SlotStream
    clear: SlotStream | None
    results: Tensors

    @property
    def slot_count(self) -> int:
        """Slots of one contribution that are masked."""
        return self.masked.slot_count

    @property
    def clear_count(self) -> int:
        """Values of one contribution that are in the clear."""
        return 0 if self.clear is None else self.clear.slot_count

    @property
    def clear_form(self) -> ClearForm:
        """How these travel."""
        return ClearForm(self.whole.value_bits)

    def blocks(self, request: SumRequest, block_slots: int) -> Iterator[LevelArray]:
        """As of SlotStream, of what is masked."""
        tensors = request.tensors if self.clear is None else self.masked.like
        return self.masked.blocks(tensors, request.weight, block_slots)

    def clear_blocks(self, request: SumRequest, block_values: int) -> Iterator[LevelArray]:
        """As `blocks`, of what is in the clear: levels of the same quantiser."""
        return iter(()) if self.clear is None else self.clear.blocks(self.clear.like, request.weight, block_values)

    def finish(self, reader: SumReader) -> Aggregate:
        """The aggregate, once both streams' sums are read; `reader` has read the masked ones."""
        aggregate = reader.finish()
        return aggregate if self.clear is None else replace(aggregate, mean=self.results)


def streams_of_request(settings: SumSettings, request: SumRequest, bits: int) -> SumStreams:
    """The streams of a request in which a value has so many bits.

    Raises InputError for a mask of other tensors than the request's, or of tensors that cannot be divided.
    """

    def stream_of(tensors: Mapping[str, AnyTensor], *, is_headless: bool = False) -> SlotStream:
        return SlotStream(
            tensors,
            request.bounds,
            () if is_headless else request.counters,
            value_bits=bits,
            weight_max=settings.weight_max,
            rounding=settings.codec.rounding,
            is_headless=is_headless,
        )

    whole = stream_of(request.tensors)
    if request.mask is None:
        return SumStreams(whole, whole, None, {})
    _check_mask(request, request.mask, settings.codec.value_bits)
    tensors = {name: _as_selectable(name, tensor) for name, tensor in request.tensors.items()}
    results = {name: np.empty(values.shape, values.dtype) for name, values in tensors.items() if are_floats(values)}

    def chosen_by(mask: Mask) -> dict[str, ChosenTensor]:
        return {name: ChosenTensor(name, tensor, mask, results.get(name)) for name, tensor in tensors.items()}

    clear = stream_of(chosen_by(~request.mask), is_headless=True)
    return SumStreams(whole, stream_of(chosen_by(request.mask)), clear, results)


def _check_mask(request: SumRequest, mask: Mask, value_bits: int) -> None:
    mask.check_sizes({name: tensor.size for name, tensor in request.tensors.items()})
    if request.value_bits not in (None, value_bits):
        raise InputError(
            "values of another size than the codec's cannot be masked in part",
            expected=f"{value_bits} bits",
            got=f"{request.value_bits} bits",
            cure="mask the whole sum",
        )


def _as_selectable(name: str, tensor: AnyTensor) -> FloatArray | SelectableTensor:
    if are_floats(tensor) or isinstance(tensor, SelectableTensor):
        return tensor
    raise InputError(
        f"tensor {name!r} cannot be masked in part",
        expected="floats, held as an array or streamed in both directions",
        got="integers, or a stream that takes no part of its mean",
        cure="mask the whole sum",
    )
