"""Torch state dicts and modules: dtypes, tied and frozen weights, BatchNorm, what load_state_dict needs."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.own_loop import Party
from hekat.own_loop.held_tensor import Values

from .conftest import THREE

torch = pytest.importorskip("torch", reason="needs hekat[torch]")


def _model(seed: int = 0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 3)
    )


def _moved(party: Party):
    """A model of its own parameters and statistics."""
    model = _model(THREE.index(party.name))
    model.train()(torch.randn(6, 1, 8, 8))
    return model


def test_a_state_dict_comes_back_ready_to_load(play_with) -> None:
    def code(party: Party):
        model = _moved(party)
        state = model.state_dict()
        result = party.aggregate(state, weight=10)
        assert type(result) is type(state)
        assert list(result) == list(state)
        assert result._metadata == state._metadata
        model.load_state_dict(result)
        return {name: tensor.clone() for name, tensor in state.items()}, model.state_dict()

    run = play_with(code)
    models = [result for _, result in run.results.values()]
    for name in models[0]:
        assert all(torch.equal(models[0][name], other[name]) for other in models), name
        assert models[0][name].dtype == run.results["north"][0][name].dtype
    means = models[0]["1.running_mean"]
    exact = torch.stack([state[0]["1.running_mean"] for state in _initial(run)]).mean(0)
    assert torch.allclose(means, exact, atol=1e-4)
    assert int(models[0]["1.num_batches_tracked"]) == 1


def _initial(run):
    """The parties' states before the mean, made again from their seeds."""
    for party in THREE:
        model = _model(THREE.index(party))
        model.train()(torch.randn(6, 1, 8, 8))
        yield model.state_dict(), party


@pytest.mark.parametrize("assign", [False, True])
def test_loading_by_assignment_and_training_on_leaves_references_alone(assign, play_with) -> None:
    def code(party: Party):
        model = _moved(party)
        for _ in range(2):
            model.load_state_dict(party.aggregate(model.state_dict(), weight=1), assign=assign)
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.add_(1.0 + THREE.index(party.name))
        return party.aggregate(model.state_dict(), weight=1)["3.bias"]

    def plain():
        biases = [_moved_bias(index) for index in range(3)]
        return torch.stack(biases).mean(0) + 2 * 2

    run = play_with(code)
    for bias in run.results.values():
        assert torch.allclose(bias, plain(), atol=1e-3)


def _moved_bias(index: int):
    return _model(index).state_dict()["3.bias"]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_dtypes_come_back_and_all_parties_hold_the_same_bits(name, play_with) -> None:
    dtype = getattr(torch, name)

    def code(party: Party):
        torch.manual_seed(THREE.index(party.name))
        state = {"w": torch.randn(40).to(dtype), "b": torch.full((), 3.0 * THREE.index(party.name), dtype=dtype)}
        first = state["w"].double()
        for _ in range(3):
            state = party.aggregate(state, weight=1)
            state = {"w": state["w"] + 0.25, "b": state["b"]}
        return first, party.aggregate(state, weight=1)

    results = play_with(code).results
    found = [result for _, result in results.values()]
    exact = torch.stack([first for first, _ in results.values()]).mean(0) + 0.75
    assert all(result["w"].dtype == dtype and result["b"].shape == () for result in found)
    assert all(torch.equal(found[0]["w"], result["w"]) for result in found)
    # Three roundings to the dtype on the way, of numbers below 4.
    allowed = 4 * 4 * torch.finfo(dtype).eps + 2e-4
    assert (found[0]["w"].double() - exact).abs().max() < allowed


def test_the_largest_float16_does_not_become_infinite(play_with) -> None:
    def code(party: Party):
        return party.aggregate({"w": torch.full((3,), 65504.0, dtype=torch.float16)}, weight=1)["w"]

    for result in play_with(code).results.values():
        assert torch.isfinite(result).all()
        assert (result > 65000).all()


def test_tied_weights_are_sent_once_and_stay_tied(play_with) -> None:
    def code(party: Party):
        embedding = torch.nn.Embedding(6, 4)
        head = torch.nn.Linear(4, 6, bias=False)
        head.weight = embedding.weight
        model = torch.nn.ModuleDict({"embedding": embedding, "head": head})
        result = party.aggregate(model.state_dict(), weight=1, parameters="head.*")
        assert result["head.weight"] is result["embedding.weight"]
        return party.aggregate(model, weight=1)

    run = play_with(code)
    assert [cost.value_count for cost in run.costs.rounds] == [24, 24]
    for model in run.results.values():
        assert model["head"].weight is model["embedding"].weight


def test_a_module_keeps_its_frozen_weights_and_its_tensors(play_with) -> None:
    def code(party: Party):
        model = _moved(party)
        model[0].requires_grad_(False)
        before = model[0].weight.clone()
        bias = model[3].bias
        assert party.aggregate(model, weight=1) is model
        assert torch.equal(model[0].weight, before)
        assert model[3].bias is bias
        assert bias.requires_grad
        return model.state_dict()

    run = play_with(code)
    states = list(run.results.values())
    assert not torch.equal(states[0]["0.weight"], states[1]["0.weight"])
    for name in ("3.weight", "1.running_mean", "1.running_var"):
        assert torch.equal(states[0][name], states[1][name])
    assert run.costs.rounds[0].value_count == 4 * 36 * 3 + 3 + 4 * 4


@pytest.mark.parametrize("tensors", ["copies", "renamed"])
def test_a_module_whose_state_dict_is_no_view_of_it_is_not_left_as_it_was(tensors, play_with) -> None:
    def give(module, state, prefix, metadata):
        return {(name if tensors == "copies" else f"my.{name}"): tensor.clone() for name, tensor in state.items()}

    def code(party: Party):
        torch.manual_seed(THREE.index(party.name))
        module = torch.nn.Linear(2, 3)
        module._register_state_dict_hook(give)
        return party.aggregate(module, weight=1).bias.detach()

    if tensors == "renamed":
        with pytest.raises(ValueError, match=r"does not load what its state_dict gives.*my\.bias, my\.weight"):
            play_with(code)
    else:
        biases = list(play_with(code).results.values())
        assert all(torch.equal(bias, biases[0]) for bias in biases)


def test_channels_last_and_mixed_kinds(play_with) -> None:
    def code(party: Party):
        index = THREE.index(party.name)
        image = torch.arange(2 * 3 * 4 * 5, dtype=torch.float32).reshape(2, 3, 4, 5) + index
        state = {
            "image": image.to(memory_format=torch.channels_last),
            "half": image.bfloat16().transpose(0, 3),
            "array": np.full(3, float(index)),
        }
        return party.aggregate(state, weight=1), image

    for result, _ in play_with(code).results.values():
        image = torch.arange(2 * 3 * 4 * 5, dtype=torch.float32).reshape(2, 3, 4, 5) + 1
        assert torch.allclose(result["image"], image, atol=4e-3)
        assert torch.allclose(result["half"].float(), image.transpose(0, 3), atol=0.6)
        assert isinstance(result["array"], np.ndarray)


@pytest.mark.parametrize("name", ["0.running_var", "running_var", "norm/moving_variance"])
def test_a_variance_that_goes_to_zero_beside_a_large_one_does_not_pass_below(name, play_with) -> None:
    """Differences are rounded to the large one's levels; a root of what is below zero is NaN in evaluation."""

    def code(party: Party):
        start = {name: torch.tensor([1.0, 0.9, 0.8, 0.7, 100.0]), "w": torch.zeros(5)}
        party.start_from(start)
        state = {name: torch.tensor([1e-9, 1e-9, 1e-9, 1e-9, 0.0]), "w": torch.full((5,), -1.0)}
        return party.aggregate(state, weight=7)

    for result in play_with(code, value_bits=8).results.values():
        assert float(result[name].min()) == 0.0
        assert torch.allclose(result[name], torch.zeros(5), atol=1.0)
        assert torch.allclose(result["w"], torch.full((5,), -1.0), atol=1e-2)


@pytest.mark.long
def test_batchnorm_over_a_constant_feature_evaluates_to_numbers(play_with) -> None:
    def code(party: Party):
        torch.manual_seed(THREE.index(party.name))
        model = torch.nn.BatchNorm1d(4, momentum=0.7)
        party.start_from(model.state_dict())
        values = torch.randn(32, 4) * torch.tensor([0.0, 0.0, 1.0, 30.0])
        seen = []
        for _ in range(8):
            for _ in range(10):
                model.train()(values)
            model.load_state_dict(party.aggregate(model.state_dict(), weight=32))
            seen.append(bool(torch.isfinite(model.eval()(values)).all()))
        return seen

    for seen in play_with(code).results.values():
        assert all(seen)


def test_gradients_are_neither_taken_nor_given(play_with) -> None:
    def code(party: Party):
        result = party.aggregate({"w": torch.nn.Parameter(torch.ones(3))}, weight=1)["w"]
        return result.requires_grad

    assert set(play_with(code).results.values()) == {False}


@pytest.mark.parametrize(
    "tensor",
    [torch.eye(3).to_sparse(), torch.zeros(2, device="meta"), torch.zeros(2, dtype=torch.complex64)],
    ids=["sparse", "meta", "complex"],
)
def test_tensors_without_real_values_are_refused(tensor, play_with) -> None:
    with pytest.raises(ValueError, match=r"party north: 'w' cannot be averaged"):
        play_with(lambda party: party.aggregate({"w": tensor}, weight=1))


def test_adapters_beside_a_base_that_could_not_be_averaged(play_with) -> None:
    """A base in 8 bits, or on no device at all, is no hindrance to averaging what trains on it."""

    def code(party: Party):
        state = {
            "lora_a": torch.full((2,), float(THREE.index(party.name))),
            "base": torch.zeros(3).to(torch.float8_e4m3fn),
            "absent": torch.zeros(3, device="meta"),
            "sparse": torch.eye(2).to_sparse(),
        }
        return party.aggregate(state, weight=1, parameters="lora_*")

    for result in play_with(code).results.values():
        assert torch.allclose(result["lora_a"], torch.ones(2), atol=1e-3)
        assert result["absent"].is_meta


def test_a_lazy_model_is_to_see_a_batch_first(play_with) -> None:
    with pytest.raises(ValueError, match=r"'weight' cannot be averaged.*without a shape yet.*run one batch"):
        play_with(lambda party: party.aggregate(torch.nn.LazyLinear(3), weight=1))


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_tensors_of_another_device_are_read_and_written_through_torch(name) -> None:
    """The way that a GPU's tensors go, here with this machine's memory behind it."""
    tensor = torch.linspace(-3, 3, 11).to(getattr(torch, name))
    target = torch.zeros_like(tensor)
    source, sink = Values(tensor, name), Values(target, name)
    assert np.array_equal(source.read(2, 9), tensor[2:9].double().numpy())
    sink.write(2, source.read(2, 9).astype(np.float64))
    sink.write_stored(9, source.read_stored(9, 11))
    assert torch.equal(target[2:], tensor[2:])
    assert not target[:2].any()
