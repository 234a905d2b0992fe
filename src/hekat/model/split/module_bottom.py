"""A PyTorch module as a bottom: frozen as it is, or trained from gradients that come from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hekat.errors import InputError
from hekat.model.check_rows import check_features
from hekat.model.module_tensors import ModuleTensors, to_float64
from hekat.model.parameters import FloatArray, Parameters, check_same_shapes
from hekat.model.split.bottom import BottomMaker, BottomTask, refuse_training
from hekat.model.split.top import MODULE
from hekat.model.split.trained_tensors import OPTIMISER, TrainedTensors
from hekat.torch_library import import_torch, seeded

EVALUATION_ROWS = 1024
PROBE_ROWS = 64


@dataclass(frozen=True)
class ModuleWords:
    """What refusals call a module's place, what it takes and gives, and how another number of these is put right."""

    place: str
    takes: str
    gives: str
    cure: str


_WORDS = ModuleWords(
    "bottom", "columns", "features", "correct the module's last layer, or the job's network.host_width or guest_width"
)


class ModuleBottom:
    """Rows go through the module in its own precision; one that does not train stays in eval() mode throughout."""

    kind = MODULE

    def __init__(self, make_module: Callable[[], Any], task: BottomTask, words: ModuleWords = _WORDS) -> None:
        torch = import_torch()
        self._words = words
        self.width, self.trains = task.width, task.trains
        self._columns, self._draws = task.column_count, task.seed % 2**62
        with seeded(self._draws):
            self._module = make_module()
        if not isinstance(self._module, torch.nn.Module):
            raise InputError(
                f"the function of a {words.place} returns no module",
                expected="a torch.nn.Module",
                got=type(self._module).__name__,
                cure="return the module itself",
            )
        self._check_eval_is_steady(task.features[:PROBE_ROWS])
        self._tensors = ModuleTensors.of(self._module, words.place) if self.trains else None
        self._moving = None if self._tensors is None else TrainedTensors(self._moved(), task.learning_rate)
        self._inputs: Any = None
        self._outputs: Any = None

    def forward(self, X: FloatArray) -> FloatArray:
        if not self.trains:
            return self.evaluate(X)
        torch = import_torch()
        check_features(X, self._columns)
        self._module.train()
        self._module.zero_grad(set_to_none=True)
        # Dropout draws from a seed of the party's own, a new one each time.
        self._draws += 1
        with seeded(self._draws), torch.enable_grad():
            self._inputs = self._tensor_of(X).requires_grad_()
            # A copy: a first layer may work in place.
            self._outputs = self._run(self._inputs.clone())
        return to_float64(self._outputs)

    def backward(self, slopes: FloatArray) -> Parameters:
        torch = import_torch()
        if self._tensors is None:
            raise refuse_training("a module that is frozen")
        if not self._outputs.requires_grad:
            raise self._refuse_constant("tensors")
        self._outputs.backward(torch.from_numpy(slopes.copy()).to(self._outputs.dtype))
        shared = self._tensors.shared
        gradient = {
            key: np.zeros(self._tensors.shapes[key]) if shared[key].grad is None else to_float64(shared[key].grad)
            for key in self._tensors.trained
        }
        for values in gradient.values():
            self._check_finite("gradients", values)
        return gradient

    @property
    def input_slopes(self) -> FloatArray:
        """The slopes by the last `forward`'s rows, (rows, columns), after `backward`. Raises InputError for none."""
        if self._inputs.grad is None:
            raise self._refuse_constant(self._words.takes)
        return to_float64(self._inputs.grad)

    def step(self, gradient: Parameters) -> None:
        if self._tensors is None or self._moving is None:
            raise refuse_training("a module that is frozen")
        self._moving.step(gradient)
        self._tensors.write(self._tensors.read() | self._moving.tensors)

    def evaluate(self, X: FloatArray) -> FloatArray:
        torch = import_torch()
        check_features(X, self._columns)
        self._module.eval()
        found = [np.zeros((0, self.width))]
        with torch.no_grad():
            for start in range(0, len(X), EVALUATION_ROWS):
                found.append(to_float64(self._run(self._tensor_of(X[start : start + EVALUATION_ROWS]))))
        return np.concatenate(found)

    def arrays(self) -> Parameters:
        if self._tensors is None:
            return {
                key: to_float64(tensor)
                for key, tensor in self._module.state_dict().items()
                if tensor.is_floating_point()
            }
        return self._tensors.read()

    def state_arrays(self) -> Parameters:
        if self._moving is None:
            return self.arrays()
        moving = self._moving.state_arrays()
        return self.arrays() | {name: values for name, values in moving.items() if name.startswith(OPTIMISER)}

    def begin_from(self, arrays: Mapping[str, FloatArray]) -> None:
        torch = import_torch()
        tensors = {name: values for name, values in arrays.items() if not name.startswith(OPTIMISER)}
        check_same_shapes("tensors of the module", tensors, {key: one.shape for key, one in self.arrays().items()})
        with torch.no_grad():
            held = self._module.state_dict(keep_vars=True)
            for key, values in tensors.items():
                held[key].copy_(torch.from_numpy(values.copy()))
        if self._moving is not None:
            state = {name: values for name, values in arrays.items() if name.startswith(OPTIMISER)}
            self._moving.begin_from(self._moved() | state)

    def _moved(self) -> Parameters:
        assert self._tensors is not None
        tensors = self._tensors.read()
        return {key: tensors[key] for key in self._tensors.trained}

    def _tensor_of(self, X: FloatArray) -> Any:
        """The rows in the module's own precision."""
        torch = import_torch()
        first = next(self._module.parameters(), torch.zeros(1))
        return torch.from_numpy(np.array(X)).to(first.dtype)

    def _run(self, X: Any) -> Any:
        torch = import_torch()
        try:
            outputs = self._module(X)
        except (Exception, SystemExit) as error:
            raise InputError(
                f"the module of a {self._words.place} raised",
                expected=f"a module that takes rows of {self._columns} {self._words.takes}",
                got=type(error).__name__,
                cure="run the module by itself on such rows and correct it",
            ) from error
        is_tensor = isinstance(outputs, torch.Tensor) and outputs.is_floating_point()
        if not is_tensor or tuple(outputs.shape) != (len(X), self.width):
            raise InputError(
                f"a {self._words.place} returns {self._words.gives} of another form",
                expected=f"real numbers of shape (rows, {self.width})",
                got=f"shape {tuple(outputs.shape)}" if is_tensor else type(outputs).__name__,
                cure=self._words.cure,
            )
        self._check_finite(self._words.gives, to_float64(outputs))
        return outputs

    def _refuse_constant(self, what: str) -> InputError:
        return InputError(
            f"{self._words.gives} of a {self._words.place} do not depend on its {what}",
            expected="a module that gradients go through",
            got="one whose results carry no gradient",
            cure="let the module detach nothing, and work under no torch.no_grad()",
        )

    def _check_finite(self, what: str, values: FloatArray) -> None:
        """Raise InputError for NaN or infinity."""
        others = int(np.count_nonzero(~np.isfinite(values)))
        if others:
            raise InputError(
                f"{what} of a {self._words.place} hold NaN or infinity",
                expected="finite numbers",
                got=f"{others:,} others of {values.size:,}",
                cure="correct the module or its tensors, or lower training.learning_rate",
            )

    def _check_eval_is_steady(self, rows: FloatArray) -> None:
        """Raise InputError unless the module in eval() mode maps the same rows to the same numbers twice, and stays
        as it is."""
        # A first call makes the tensors of lazy layers.
        with seeded(self._draws):
            features = self.evaluate(rows)
        before = {key: tensor.clone() for key, tensor in self._module.state_dict().items()}
        after, again = self._module.state_dict(), self.evaluate(rows)
        if not np.array_equal(features, again) or any(_differ(after[key], tensor) for key, tensor in before.items()):
            raise InputError(
                f"the module of a {self._words.place} changes from call to call",
                expected=f"in eval() mode, the same {self._words.gives} and tensors whenever it is called",
                got="others",
                cure="let eval() switch off what draws or counts, as torch.nn.Dropout and BatchNorm do",
            )


def _differ(tensor: Any, other: Any) -> bool:
    """Whether two tensors of one shape differ; NaN is NaN's like."""
    return bool(((tensor != other) & ~((tensor != tensor) & (other != other))).any())


def module_bottom(make_module: Callable[[], Any]) -> BottomMaker:
    """The maker of bottoms from a function that returns a torch.nn.Module from (rows, columns) to (rows, width)."""
    return lambda task: ModuleBottom(make_module, task)
