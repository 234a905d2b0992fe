"""A mask of a part of each model: the same mean, the rest readable, one mask at all clients, and nothing else taken."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hekat.errors import BoundError, InputError
from hekat.fedml_he import EncryptedModel, Params, dec, enc, flatten, flatten_mask, he_aggregate, key_gen
from hekat.privacy import Mask, MaskRules, SensitivityMap, choose_mask
from hekat.scheme.ckks import PublicKey

WEIGHTS = (700, 200, 100)
COUNT = 1000


def _vectors(seed: int, dtype: Any = np.float32) -> list[np.ndarray[Any, Any]]:
    generator = np.random.default_rng(seed)
    return [generator.uniform(-1, 1, COUNT).astype(dtype) for _ in WEIGHTS]


def _mask(part: float, seed: int = 3) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.random.default_rng(seed).random(COUNT) < part


def _uploads(params: Params, mask: Any, seed: int = 61) -> tuple[list[EncryptedModel], Any]:
    pk, sk = key_gen(params)
    uploads: list[Any] = [
        enc(key, vector, weight=weight, mask=mask)
        for key, vector, weight in zip(pk, _vectors(seed), WEIGHTS, strict=True)  # type: ignore[arg-type]
    ]
    return uploads, sk


@pytest.mark.parametrize(("value_bits", "part"), [(8, 0.5), (16, 0.1), (24, 0.9)])
def test_the_mean_is_the_one_of_full_masking(value_bits: int, part: float) -> None:
    params, mask = Params(value_bits=value_bits, weight_max=1000), _mask(part)
    full, opening = _uploads(params, None)
    expected = dec(opening, he_aggregate(full))
    uploads, sk = _uploads(params, mask)
    total = he_aggregate(uploads)
    assert np.array_equal(dec(sk, total, mask=mask), expected)
    assert f"{COUNT - mask.sum()} of them IN THE CLEAR" in repr(total)
    assert total.clear.count == COUNT - mask.sum()  # type: ignore[union-attr]


def test_the_server_reads_what_the_mask_leaves_out_and_nothing_else() -> None:
    params, mask = Params(weight_max=1000), _mask(0.3)
    uploads, _ = _uploads(params, mask)
    levels = np.frombuffer(uploads[1].clear.levels, "<i2")  # type: ignore[union-attr]
    read = levels / params.lattice_parameters.level * params.weight_max / WEIGHTS[1]
    assert np.abs(read - _vectors(61)[1][~mask]).max() < 1e-3
    assert b"".join(uploads[0].blocks) != b"".join(_uploads(params, mask)[0][0].blocks)


def test_a_mask_of_everything_is_full_masking() -> None:
    mask = np.ones(COUNT, dtype=np.bool_)
    uploads, sk = _uploads(Params(weight_max=1000), mask)
    assert uploads[0].clear is None
    dec(sk, he_aggregate(uploads), mask=mask)


def test_a_client_with_another_mask_is_refused_and_hidden_opens_nothing() -> None:
    params, mask, other = Params(weight_max=1000), _mask(0.3), _mask(0.3)
    other[[np.flatnonzero(other)[0], np.flatnonzero(~other)[0]]] = False, True
    pk, sk = key_gen(params)
    uploads: list[Any] = [
        enc(key, vector, weight=100, mask=one)
        for key, vector, one in zip(pk, _vectors(62), (mask, mask, other), strict=True)  # type: ignore[arg-type]
    ]
    with pytest.raises(InputError, match="mask other values"):
        he_aggregate(uploads)
    lying = replace(uploads[2], clear=replace(uploads[2].clear, mask_digest=uploads[0].clear.mask_digest))
    with pytest.raises(BoundError):
        dec(sk, he_aggregate([*uploads[:2], lying]), mask=mask)
    pk, _ = key_gen(params)
    whole = enc(pk[0], _vectors(62)[0], weight=100)  # type: ignore[index]
    partly = enc(pk[1], _vectors(62)[1], weight=100, mask=mask)  # type: ignore[index]
    with pytest.raises(InputError, match="some clients mask every value"):
        he_aggregate([whole, partly])  # type: ignore[list-item]


def test_the_opener_needs_the_mask_and_a_refusal_uses_no_key() -> None:
    mask = _mask(0.3)
    uploads, sk = _uploads(Params(weight_max=1000), mask)
    total: Any = he_aggregate(uploads)
    for wrong in (None, _mask(0.3, seed=4), np.zeros(COUNT, dtype=np.bool_), mask[1:], mask.astype(int)):
        with pytest.raises(InputError):
            dec(sk, total, mask=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not a sum"):
        dec(sk, replace(total, clear=uploads[0].clear), mask=mask)
    for clear, error in (
        (replace(total.clear, levels=total.clear.levels[:-1]), InputError),
        (replace(total.clear, levels=np.full(total.clear.count, 1 << 40, "<i8").tobytes()), BoundError),
        (replace(total.clear, count=COUNT), InputError),
    ):
        with pytest.raises(error):
            dec(sk, replace(total, clear=clear), mask=mask)
    assert "not used" in repr(sk)
    dec(sk, total, mask=mask)
    full, opening = _uploads(Params(weight_max=1000), None)
    with pytest.raises(InputError, match="no part in the clear"):
        dec(opening, he_aggregate(full), mask=mask)


@pytest.mark.parametrize(
    "mask", [np.zeros(COUNT, dtype=np.bool_), np.ones(COUNT - 1, dtype=np.bool_), np.ones(COUNT), [True]]
)
def test_a_mask_of_another_form_uses_no_key(mask: Any) -> None:
    pk, _ = key_gen(Params())
    with pytest.raises(InputError, match="mask refused"):
        enc(pk[0], _vectors(63)[0], mask=mask)  # type: ignore[index]
    enc(pk[0], _vectors(63)[0], mask=_mask(0.5))  # type: ignore[index]


def test_an_upload_of_levels_that_no_client_sends_is_not_added() -> None:
    uploads, _ = _uploads(Params(weight_max=1000), _mask(0.3))
    clear: Any = uploads[0].clear
    forged = replace(uploads[0], clear=replace(clear, levels=np.full(clear.count, -(1 << 15), "<i2").tobytes()))
    with pytest.raises(BoundError, match="out of range"):
        he_aggregate([forged, *uploads[1:]])


def test_models_pickled_without_a_clear_part_have_none() -> None:
    uploads, sk = _uploads(Params(weight_max=1000), None)
    state = {key: value for key, value in uploads[0].__dict__.items() if key != "clear"}
    older = EncryptedModel.__new__(EncryptedModel)
    older.__setstate__(state)
    again: Any = pickle.loads(pickle.dumps(older))
    assert again.clear is None
    dec(sk, he_aggregate([again, *uploads[1:]]))


def test_masks_of_tensors_lie_in_the_order_of_the_vector() -> None:
    model = {"w": np.arange(6.0).reshape(2, 3), "n": np.array(3), "b": np.array([9.0])}
    vector, shape = flatten(model)
    found = SensitivityMap({"w": model["w"], "b": model["b"]}, 4, "exact")
    mask = choose_mask(found, MaskRules(0.4))
    assert vector[flatten_mask(mask, shape)].tolist() == [4.0, 5.0, 9.0]
    assert flatten_mask({"w": model["w"] > 4}, shape).tolist() == [False] * 5 + [True, True]
    for wrong in (Mask.everything({"v": 6}), {"w": np.ones(5, bool)}, {"w": np.ones((2, 3))}):
        with pytest.raises(InputError, match="mask"):
            flatten_mask(wrong, shape)


def test_ckks_takes_no_mask() -> None:
    pytest.importorskip("tenseal", reason="needs hekat[ckks]")
    pk, _ = key_gen(Params("ckks"))
    assert isinstance(pk, PublicKey)
    with pytest.raises(InputError, match="lattice scheme alone"):
        enc(pk, _vectors(64)[0], mask=_mask(0.5))
