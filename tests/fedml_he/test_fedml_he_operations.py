"""FedML-HE's operations, from a model to the global model, over both schemes; and what each scheme refuses."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hekat.errors import BoundError, InputError, KeyRefusedError, PolicyError
from hekat.fedml_he import Params, dec, enc, flatten, he_aggregate, key_gen, mean_error_bound, reshape
from hekat.fedml_he.over_lattice import UPLOAD_FORM
from hekat.scheme.ckks import FEDML_HE, FLOODED, describe_flooding
from hekat.scheme.lattice import Accumulator, block_values

WEIGHTS = (700, 200, 100)


def models(seed: int, count: int = 3) -> list[dict[str, np.ndarray]]:
    generator = np.random.default_rng(seed)
    return [
        {"w": generator.uniform(-1, 1, (40, 30)).astype(np.float32), "n": np.array(number)} for number in range(count)
    ]


def mean_of(clients: list[dict[str, np.ndarray]], weights: Any) -> np.ndarray:
    shares = np.array(weights) / sum(weights)
    return sum(share * client["w"].astype(np.float64) for share, client in zip(shares, clients, strict=True))


@pytest.mark.parametrize("value_bits", [8, 16, 24, 32])
def test_a_round_over_lattice_seed_51(value_bits: int) -> None:
    params = Params(value_bits=value_bits, weight_max=1000)
    pk, sk = key_gen(params)
    clients = models(51)
    uploads = [
        enc(key, flatten(client)[0], weight=weight) for key, client, weight in zip(pk, clients, WEIGHTS, strict=True)
    ]
    total = he_aggregate(uploads)
    vector = dec(sk, total)
    assert vector.dtype == np.float32
    error = np.abs(reshape(vector, clients[2])["w"] - mean_of(clients, WEIGHTS)).max()
    assert error <= mean_error_bound(params, 3, sum(WEIGHTS)) + 2.0**-25
    assert reshape(vector, clients[2])["n"] == 2
    # The same sum opens again, a mean is a mean whatever the order, and an upload is small.
    assert np.array_equal(dec(sk, he_aggregate(uploads[::-1])), vector)
    assert uploads[0].nbytes <= uploads[0].params.lattice_parameters.upload_bits / 8 * (vector.size + 100) + 100


@pytest.mark.parametrize("weight_max", [1, 3, 32767, 32768, 1 << 40])
def test_weights_of_every_size_over_lattice_seed_52(weight_max: int) -> None:
    params = Params(weight_max=weight_max, value_bits=32)
    pk, sk = key_gen(params)
    clients, weights = models(52), [weight_max, max(1, weight_max // 2), max(1, weight_max - 1)]
    uploads = [enc(key, flatten(c)[0].astype(np.float64), w) for key, c, w in zip(pk, clients, weights, strict=True)]
    error = np.abs(dec(sk, he_aggregate(uploads)).reshape(40, 30) - mean_of(clients, weights)).max()
    assert error <= mean_error_bound(params, 3, sum(weights))


def test_blocks_of_a_larger_model_seed_53() -> None:
    """Several blocks, a last one that is not full, and the weight's digits in front of the values."""
    pk, sk = key_gen(Params())
    vectors = [np.random.default_rng(seed).uniform(-1, 1, 600_001).astype(np.float32) for seed in (53, 54, 55)]
    uploads = [enc(key, vector) for key, vector in zip(pk, vectors, strict=True)]
    assert len(uploads[0].blocks) == 3
    error = np.abs(dec(sk, he_aggregate(uploads)) - np.mean(vectors, axis=0, dtype=np.float64)).max()
    assert error <= mean_error_bound(Params(), 3, 3) * (1 + 1e-6) + 2.0**-25


@pytest.mark.parametrize(("parameters", "sharing"), [(FLOODED, "flooding"), (FEDML_HE, "rounding")])
def test_a_round_over_ckks_seed_56(parameters: Any, sharing: Any) -> None:
    pytest.importorskip("tenseal", reason="needs hekat[ckks]")
    pk, sk = key_gen(Params("ckks", ckks_parameters=parameters, sharing=sharing))
    clients = models(56)
    uploads = [enc(pk, flatten(client)[0]) for client in clients]
    allowed = describe_flooding(FLOODED, 1, 1).largest_error if sharing == "flooding" else 2.0**-18
    for factors, weights in (([0.7, 0.2, 0.1], WEIGHTS), (None, (1, 1, 1))):
        restored = reshape(dec(sk, he_aggregate(uploads, factors)), clients[0])
        assert restored["w"].dtype == np.float32
        assert np.abs(restored["w"] - mean_of(clients, weights)).max() <= allowed


def test_a_round_over_torch_state_dicts() -> None:
    torch = pytest.importorskip("torch", reason="needs hekat[torch]")
    torch.manual_seed(57)
    states = [torch.nn.Linear(6, 3).state_dict() for _ in range(3)]
    pk, sk = key_gen(Params())
    total = he_aggregate([enc(key, flatten(state)[0]) for key, state in zip(pk, states, strict=True)])
    restored = reshape(dec(sk, total), states[0])
    for name in states[0]:
        mean = torch.stack([state[name] for state in states]).mean(dim=0)
        assert restored[name].dtype == torch.float32
        assert float((restored[name] - mean).abs().max()) <= mean_error_bound(Params(), 3, 3) + 2.0**-24


def test_ckks_without_tenseal_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tenseal", None)
    with pytest.raises(InputError) as caught:
        key_gen(Params("ckks"))
    assert caught.value.cure == "pip install 'hekat[ckks]'"
    key_gen(Params())


def test_fedml_he_parameters_share_nothing_by_default() -> None:
    pytest.importorskip("tenseal", reason="needs hekat[ckks]")
    pk, sk = key_gen(Params("ckks", ckks_parameters=FEDML_HE))
    with pytest.raises(BoundError, match="too little room"):
        dec(sk, he_aggregate([enc(pk, np.ones(2))]))


def test_weights_go_where_the_scheme_takes_them() -> None:
    pk, _ = key_gen(Params())
    uploads = [enc(key, np.ones(4)) for key in pk]
    with pytest.raises(InputError, match="the server applies no weights with the lattice scheme") as caught:
        he_aggregate(uploads, [0.5, 0.3, 0.2])
    assert "weight=n_i" in caught.value.cure
    pytest.importorskip("tenseal", reason="needs hekat[ckks]")
    public, _ = key_gen(Params("ckks", ckks_parameters=FEDML_HE))
    with pytest.raises(InputError, match="with CKKS the server applies the weights"):
        enc(public, np.ones(4), weight=2)


def test_a_key_masks_one_model_and_a_refused_one_leaves_it_unused() -> None:
    pk, _ = key_gen(Params())
    for vector, error in (
        (np.array([np.nan]), InputError),
        (np.array([1.5]), BoundError),
        (np.zeros(0), InputError),
        (np.ones(2, np.float16), InputError),
        (np.ones((2, 2)), InputError),
        ([1.0], InputError),
    ):
        with pytest.raises(error):
            enc(pk[0], vector)
    for weight in (0, -1, 1.0, True, 2):
        with pytest.raises(InputError, match="weight refused"):
            enc(pk[0], np.ones(2), weight=weight)
    enc(pk[0], np.ones(2))
    with pytest.raises(KeyRefusedError, match="masks one contribution only"):
        enc(pk[0], np.ones(2))


def test_a_weight_that_leaves_nothing_of_a_value_is_refused() -> None:
    params = Params(weight_max=1 << 20)
    pk, sk = key_gen(params)
    with pytest.raises(InputError, match="a whole number from 33 to weight_max"):
        enc(pk[0], np.ones(2), weight=32)
    uploads = [enc(pk[0], np.ones(2), weight=33), enc(pk[1], np.ones(2)), enc(pk[2], np.ones(2))]
    assert dec(sk, he_aggregate(uploads)) == pytest.approx(1, abs=mean_error_bound(params, 3, 2 << 20))


def test_one_set_of_clients_is_opened_and_none_that_is_too_small() -> None:
    params = Params(client_count=5)
    pk, sk = key_gen(params)
    uploads = [enc(key, np.full(3, 0.1 * number)) for number, key in enumerate(pk)]
    assert params.least_clients == 4
    for few in (uploads[:3], uploads[:1]):
        with pytest.raises(PolicyError, match="too few clients"):
            dec(sk, he_aggregate(few))
    opened = dec(sk, he_aggregate(uploads[:4]))
    assert opened == pytest.approx(0.15, abs=1e-4)
    with pytest.raises(PolicyError, match="has opened the sum of other clients"):
        dec(sk, he_aggregate(uploads))
    with pytest.raises(InputError, match="twice"):
        he_aggregate([uploads[0], uploads[0]])


def test_two_clients_only_where_it_is_said() -> None:
    with pytest.raises(InputError, match="allow_two_clients"):
        Params(client_count=2)
    pk, sk = key_gen(Params(client_count=2, allow_two_clients=True))
    opened = dec(sk, he_aggregate([enc(pk[0], np.zeros(2)), enc(pk[1], np.ones(2))]))
    assert opened == pytest.approx(0.5, abs=1e-4)


def test_models_of_other_rounds_shapes_and_schemes_are_refused() -> None:
    pk, sk = key_gen(Params())
    other_pk, other_sk = key_gen(Params())
    one, foreign = enc(pk[0], np.ones(3)), enc(other_pk[1], np.ones(3))
    with pytest.raises(InputError, match="do not belong together"):
        he_aggregate([one, foreign])
    with pytest.raises(InputError, match="do not belong together"):
        he_aggregate([one, enc(pk[1], np.ones(4))])
    with pytest.raises(InputError, match="do not belong together"):
        he_aggregate([one, enc(pk[2], np.ones(3, np.float32))])
    whole = he_aggregate([foreign, enc(other_pk[0], np.ones(3)), enc(other_pk[2], np.ones(3))])
    with pytest.raises(InputError, match="do not belong together"):
        he_aggregate([whole, foreign])
    with pytest.raises(KeyRefusedError, match="another round"):
        dec(sk, whole)
    assert dec(other_sk, whole) == pytest.approx(1.0)
    for call in (lambda: he_aggregate([]), lambda: he_aggregate([1]), lambda: he_aggregate([one, 1])):
        with pytest.raises(InputError, match="not encrypted models of one scheme"):
            call()
    with pytest.raises(InputError, match=r"enc\(pk\[i\], vector\)"):
        enc(pk, np.ones(3))
    with pytest.raises(InputError, match="do not belong together"):
        dec(sk, 5)


def test_an_altered_sum_does_not_open() -> None:
    pk, sk = key_gen(Params())
    total = he_aggregate([enc(key, np.ones(3)) for key in pk[:2]])
    forged = replace(total, clients=(0, 1, 2))
    with pytest.raises(BoundError, match="does not open"):
        dec(sk, forged)


def test_one_client_named_three_times_is_not_three() -> None:
    """Three times its upload opens with three times its secret, to its own model: the server must not get that."""
    pk, sk = key_gen(Params())
    upload = enc(pk[0], np.ones(3))
    parameters, slot_count = upload.params.lattice_parameters, 4
    accumulator = Accumulator(parameters, slot_count)
    for _ in range(3):
        accumulator.add(upload.blocks)
    blocks = tuple(accumulator.write(block_values(parameters, 1 << 18)))
    with pytest.raises(PolicyError, match="other than distinct clients"):
        dec(sk, replace(upload, clients=(0, 0, 0), blocks=blocks))


@pytest.mark.parametrize("clients", [(0, 1, -1), (0, 1, 7), (2, 1, 0), (0, 1, "2"), (0, 1, True), [0, 1, 2]])
def test_clients_that_are_none_of_the_round_are_refused(clients: Any) -> None:
    pk, sk = key_gen(Params())
    total = he_aggregate([enc(key, np.ones(3)) for key in pk])
    with pytest.raises(PolicyError, match="other than distinct clients"):
        dec(sk, replace(total, clients=clients))
    assert dec(sk, total) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "change", [{"blocks": ()}, {"blocks": "x"}, {"blocks": ("x",)}, {"value_count": -1}, {"dtype": "float16"}], ids=str
)
def test_a_sum_of_other_parts_is_refused_and_uses_up_nothing(change: dict) -> None:
    pk, sk = key_gen(Params())
    total = he_aggregate([enc(key, np.ones(3)) for key in pk])
    with pytest.raises(InputError, match="not an encrypted model"):
        dec(sk, replace(total, **change))
    assert "not used" in repr(sk)
    assert dec(sk, total) == pytest.approx(1.0)


@pytest.mark.parametrize("form", [1, UPLOAD_FORM + 1, 0, 1 << 20000, "2", True], ids=[*"abcdef"])
def test_models_whose_weight_stands_in_another_form_are_refused(form: Any) -> None:
    pk, sk = key_gen(Params(weight_max=1 << 17))
    uploads = [enc(key, np.ones(3)) for key in pk]
    other = replace(uploads[0], form=form)
    whole = replace(he_aggregate(uploads), form=form)
    for call in (lambda: he_aggregate([other, *uploads[1:]]), lambda: dec(sk, whole)):
        with pytest.raises(InputError, match="holds its weight in another form") as caught:
            call()
        assert "the same release" in caught.value.cure
    assert dec(sk, he_aggregate(uploads)) == pytest.approx(1.0, abs=1e-3)


def test_a_model_that_was_pickled_before_forms_were_named_is_of_form_1() -> None:
    """A release that knew no form pickled its other attributes."""
    pk, _ = key_gen(Params())
    upload = enc(pk[0], np.ones(3))
    old = object.__new__(type(upload))
    old.__setstate__({name: value for name, value in vars(upload).items() if name != "form"})
    assert old.form == 1
    with pytest.raises(InputError, match=r"form 2, .* got form 1"):
        he_aggregate([old])
    assert pickle.loads(pickle.dumps(upload)) == upload


def test_an_opener_that_takes_another_form_for_granted_opens_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a release does that knows no form: at 16 bits and this weight both forms have two digits, of other bases."""
    pk, sk = key_gen(Params(weight_max=1 << 17))
    total = he_aggregate([enc(key, np.ones(3)) for key in pk])
    monkeypatch.setattr("hekat.fedml_he.over_lattice.UPLOAD_FORM", 1)
    with pytest.raises(BoundError):
        dec(sk, replace(total, form=1))


def test_what_is_no_argument_at_all_is_refused() -> None:
    with pytest.raises(InputError, match=r"Params\(\.\.\.\); got NoneType"):
        key_gen(None)
    with pytest.raises(InputError, match="no encrypted models"):
        he_aggregate(None)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"value_bits": "16"}, "value_bits refused"),
        ({"allow_two_clients": "no"}, "allow_two_clients refused"),
        ({"ckks_parameters": None}, "ckks_parameters refused"),
        ({"scheme": "bfv"}, "unknown scheme"),
        ({"sharing": "all"}, "unknown way to share"),
        ({"client_count": 257}, "so many parties"),
        ({"value_bits": 33}, "bits of a value"),
        ({"alpha": 0.0}, "alpha"),
        ({"weight_max": 0}, "weight_max refused"),
    ],
)
def test_params_out_of_range_are_refused(arguments: dict, says: str) -> None:
    with pytest.raises(InputError, match=says):
        Params(**arguments)


def test_keys_and_models_show_nothing() -> None:
    pk, sk = key_gen(Params())
    upload = enc(pk[0], np.full(3, 0.123456))
    assert repr(pk[0]) == "ClientKey(client 0 of 3)"
    assert repr(sk) == "OpeningKey(3 clients, not used)"
    assert repr(upload) == f"EncryptedModel(3 values of clients (0,), {upload.nbytes} bytes)"
    for key in (pk[0], sk):
        with pytest.raises(KeyRefusedError, match="not pickled"):
            pickle.dumps(key)
