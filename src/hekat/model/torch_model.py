"""A PyTorch module as a model: arrays of float64 go in and come out, the module computes in its own precision.

Parameters, gradients and features are float64 outside; inside they are rounded to the module's dtype, float32 unless
the module says otherwise. Gradients are taken in train() mode, losses and predictions in eval() mode.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError
from hekat.first_few import first_few
from hekat.model.check_rows import check_features
from hekat.model.head import ClassHead, SoftmaxHead, SquaredErrorHead, make_class_head
from hekat.model.headed_model import HeadedModel
from hekat.model.module_tensors import ModuleTensors, to_float64
from hekat.model.parameters import Features, FloatArray, Labels, Parameters, Shapes
from hekat.model.rows.torch_rows import MOST_VALUES, check_rows_apart, clipped_sum, row_gradients
from hekat.privacy.sensitivity.directions import Directions
from hekat.privacy.sensitivity.module_loss import LossName
from hekat.privacy.sensitivity.module_source import ModuleSource
from hekat.torch_library import import_torch, seeded

# Rows that go through the module at once where no gradient is taken, so that memory does not grow with the table.
EVALUATION_ROWS = 256
_PROBE_ROWS = 2


class TorchModel(HeadedModel):
    """`make_module` returns a torch.nn.Module that maps (rows, column_count) to (rows, class_count), logits; to
    (rows, 1), the logit of the second of two classes; or to (rows, 1), the number of a regression (`class_count` None).

    Tensors go by their names in the module's state dict. The penalty is on trained tensors of two or more dimensions:
    biases and the scales of normalisations are free of it. Buffers of real numbers are `averaged`, whole numbers and
    booleans stay in this object. Dropout, and everything else that uses PyTorch's generator, draws from a seed made of
    the batch, so that a run that is repeated, resumed, or compared with one in the clear draws the same; a batch that
    comes twice in a row draws anew. A batch normalisation uses its running statistics for a batch of one row, because
    one row has no spread. `describe_failure` describes the module's exceptions without their text, which could hold
    data.
    """

    def __init__(
        self,
        name: str,
        make_module: Callable[[], Any],
        *,
        column_count: int,
        class_count: int | None,
        l2: float = 0.0,
        describe_failure: Callable[[BaseException], str] = lambda error: type(error).__name__,
    ) -> None:
        self.name = name
        self.l2 = l2
        self.column_count = column_count
        self._make_module, self._describe_failure = make_module, describe_failure
        self._module, width = self._make(0, class_count)
        self._head: ClassHead | SquaredErrorHead
        if class_count is None:
            self._head = SquaredErrorHead()
        else:
            self._head = make_class_head(class_count) if width == 1 else SoftmaxHead(class_count)
        self._tensors = ModuleTensors.of(self._module, name)
        self._penalised = tuple(key for key in self._tensors.trained if len(self._tensors.shapes[key]) > 1)
        self._last_batch, self._repeats = b"", 0
        self._has_rows_apart = False
        first = next(self._module.parameters())  # as in the probe of the outputs: a buffer may have a dtype of its own
        self._dtype, self._device = first.dtype, first.device

    @property
    def parameter_shapes(self) -> Shapes:
        return self._tensors.shapes

    @property
    def averaged(self) -> frozenset[str]:
        return self._tensors.averaged

    @property
    def non_negative(self) -> frozenset[str]:
        """Averaged tensors that rounding must not bring below zero: the running variances of normalisations."""
        return self._tensors.variances

    @property
    def frozen(self) -> frozenset[str]:
        return self._tensors.frozen

    @property
    def local(self) -> tuple[str, ...]:
        """Names of the buffers of whole numbers and booleans, which each party keeps for itself."""
        return tuple(self._tensors.local)

    def init(self, seed: int) -> Parameters:
        """The module's first tensors when PyTorch's generator begins at `seed`.

        They are the same for the same seed, release of PyTorch and kind of processor. Raises InputError for another
        module than before, NaN or infinity.
        """
        module, _ = self._make(seed, self._class_count)
        tensors = ModuleTensors.of(module, self.name)
        if tensors.shapes != self.parameter_shapes:
            raise InputError(
                f"model {self.name} is another one each time its function is called",
                expected="tensors of the same names and shapes",
                got="others",
                cure="let the function depend on its arguments alone",
            )
        parameters = tensors.read()
        broken = [key for key, values in parameters.items() if not np.isfinite(values).all()]
        if broken:
            raise InputError(
                f"model {self.name} begins with NaN or infinity",
                expected="finite numbers in every tensor",
                got=f"others in {first_few(broken, 5)}",
                cure="correct how the model's function sets its tensors",
            )
        return parameters

    def loss_and_gradient(self, params: Parameters, X: FloatArray, y: Labels) -> tuple[float, Parameters]:
        """The mean loss of all rows as one batch, in train() mode, penalty included, and its slopes. Raises
        InputError."""
        torch = import_torch()
        check_features(X, self.column_count)
        self._check_labels(X, y)
        self._tensors.write(params)
        self._set_training(X.shape[0])
        self._module.zero_grad(set_to_none=True)
        batch = self._dense(X)
        with seeded(self._seed_of(batch, y)), torch.enable_grad():
            outputs = self._forward(batch)
        with np.errstate(over="ignore", invalid="ignore"):
            loss, slope = self._head.loss_and_slope(to_float64(outputs), y)
        self._backward(outputs, slope)
        return loss + self._penalty(params), {key: self._slope(params, key) for key in self.parameter_shapes}

    def sum_clipped_rows(
        self,
        params: Parameters,
        X: FloatArray,
        y: Labels,
        factors_of: Callable[[FloatArray], FloatArray],
        names: Collection[str],
    ) -> tuple[FloatArray, Parameters]:
        """As `row_sums.RowModel.sum_clipped_rows`, by opacus; rows in pieces, so that memory is bounded."""
        torch = import_torch()
        check_features(X, self.column_count)
        self._check_labels(X, y)
        self._check_rows_apart()
        self._tensors.write(params)
        self._module.train()
        losses, sums = np.zeros(X.shape[0]), {key: np.zeros(self._tensors.shapes[key]) for key in names}
        size = max(1, MOST_VALUES // sum(values.size for values in sums.values()))
        with row_gradients(self._module, self.name) as wrapped:
            for start in range(0, X.shape[0], size):
                piece = slice(start, min(start + size, X.shape[0]))
                count = piece.stop - piece.start
                wrapped.zero_grad(set_to_none=True)
                batch = self._dense(X[piece])
                # What a row's dropout draws may not follow from other rows: their terms would change with this row.
                with seeded(int.from_bytes(os.urandom(7), "little")), torch.enable_grad():
                    outputs = self._forward(batch, through=wrapped)
                with np.errstate(over="ignore", invalid="ignore"):
                    found = to_float64(outputs)
                    losses[piece] = self._head.row_losses(found, y[piece])
                    _, slope = self._head.loss_and_slope(found, y[piece])
                    self._backward(outputs, slope * count)
                for key, values in clipped_sum(self._tensors.shared, factors_of, names, count).items():
                    sums[key] += values
            wrapped.zero_grad(set_to_none=True)
        return losses, sums

    def _check_rows_apart(self) -> None:
        """Raise InputError, the first time, for a module that mixes rows; its weights are other ones afterwards."""
        if self._has_rows_apart:
            return
        torch, rng = import_torch(), np.random.default_rng(1)
        self._tensors.write({key: 0.5 * rng.normal(size=shape) for key, shape in self._tensors.shapes.items()})
        self._module.train()
        rows = torch.from_numpy(rng.normal(size=(2 * _PROBE_ROWS, self.column_count)))
        check_rows_apart(self._module, rows.to(device=self._device, dtype=self._dtype), self.name)
        self._has_rows_apart = True

    def penalty_slope(self, params: Parameters) -> Parameters:
        """The derivative of the penalty by every parameter that it is on; {} without one."""
        return {key: self.l2 * params[key] for key in self._penalised} if self.l2 else {}

    def outputs(self, params: Parameters, X: FloatArray) -> FloatArray:
        """Logits or numbers in eval() mode, shape (rows, output_count); sparse rows become dense batch by batch."""
        torch = import_torch()
        check_features(X, self.column_count)
        self._tensors.write(params)
        self._module.eval()
        found = [np.zeros((0, self._head.output_count))]
        with torch.no_grad():
            for start in range(0, X.shape[0], EVALUATION_ROWS):
                found.append(to_float64(self._forward(self._dense(X[start : start + EVALUATION_ROWS]))))
        return np.concatenate(found)

    def sensitivity_source(
        self, params: Parameters, rows: Features, labels: Labels, directions: Directions
    ) -> ModuleSource:
        """What `hekat.privacy.sensitivity` reads the weights' sensitivities from. Raises InputError."""
        check_features(rows, self.column_count)
        self._check_labels(rows, labels)
        self._tensors.write(params)
        loss: LossName = "cross_entropy" if self.task == "classification" else "squared"
        return ModuleSource(self._module, rows, labels, loss, directions)

    def state_dict(self, params: Parameters) -> dict[str, Any]:
        """Tensors of their own for the module's load_state_dict(strict=True), in its dtypes; buffers of whole numbers
        are as the module's function makes them."""
        self._tensors.write(params)
        found = self._module.state_dict()
        return {key: tensor.detach().to("cpu").clone().contiguous() for key, tensor in found.items()}

    @property
    def _class_count(self) -> int | None:
        return None if isinstance(self._head, SquaredErrorHead) else self._head.class_count

    def _make(self, seed: int, class_count: int | None) -> tuple[Any, int]:
        """A new module and the width of its outputs.

        The module has seen rows of zeros, so lazy layers know their sizes.
        """
        torch = import_torch()
        with seeded(seed), torch.no_grad():
            module = self._make_module()
            if not isinstance(module, torch.nn.Module):
                raise InputError(
                    f"the function of model {self.name} returns no module",
                    expected="a torch.nn.Module",
                    got=type(module).__name__,
                    cure="return the module itself",
                )
            module.eval()
            tensors = [*module.parameters()] or [torch.zeros(1)]
            zeros = torch.zeros(_PROBE_ROWS, self.column_count, dtype=tensors[0].dtype, device=tensors[0].device)
            try:
                outputs = module(zeros)
            except (Exception, SystemExit) as error:
                raise self._failed(error) from error
        widths = {1} if class_count is None else {1, 2} if class_count == 2 else {class_count}
        self._check_outputs(outputs, _PROBE_ROWS, widths)
        return module, int(outputs.shape[1])

    def _forward(self, batch: Any, through: Any = None) -> Any:
        """The outputs, `through` a wrapper of the module where there is one."""
        torch = import_torch()
        try:
            rows = torch.from_numpy(batch).to(device=self._device, dtype=self._dtype)
            # The wrapper's hooks warn of a first layer whose inputs need no slope.
            outputs = self._module(rows) if through is None else through(rows.requires_grad_())
        except (Exception, SystemExit) as error:
            raise self._failed(error) from error
        self._check_outputs(outputs, batch.shape[0], {self._head.output_count})
        return outputs

    def _backward(self, outputs: Any, slope: FloatArray) -> None:
        torch = import_torch()
        try:
            outputs.backward(torch.from_numpy(slope).to(device=outputs.device, dtype=outputs.dtype))
        except RuntimeError as error:
            raise self._failed(error) from error

    def _slope(self, params: Parameters, key: str) -> FloatArray:
        tensor = self._tensors.shared[key]
        if key in self.averaged:
            return params[key] - to_float64(tensor)
        if tensor.grad is None:
            return np.zeros(params[key].shape)
        gradient = to_float64(tensor.grad)
        return gradient + self.l2 * params[key] if self.l2 and key in self._penalised else gradient

    def _set_training(self, row_count: int) -> None:
        torch = import_torch()
        self._module.train()
        if row_count == 1:
            for part in self._module.modules():
                if isinstance(part, torch.nn.modules.batchnorm._BatchNorm):
                    part.eval()

    def _seed_of(self, batch: npt.NDArray[Any], y: Labels) -> int:
        """A seed for the batch: its features' first row and sum are enough to tell batches apart."""
        digest = hashlib.blake2b(y.tobytes(), digest_size=7)
        digest.update(batch[0].tobytes())
        digest.update(batch.sum(axis=1).tobytes())
        found = digest.digest()
        self._repeats = self._repeats + 1 if found == self._last_batch else 0
        self._last_batch = found
        return int.from_bytes(found, "little") + self._repeats

    def _penalty(self, params: Parameters) -> float:
        if self.l2 == 0.0:
            return 0.0
        with np.errstate(over="ignore"):
            return 0.5 * self.l2 * sum(float(np.sum(params[key] ** 2)) for key in self._penalised)

    def _dense(self, X: Any) -> npt.NDArray[np.float64]:
        """The rows in memory of their own, which PyTorch may use without a copy."""
        return np.array(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)

    def _check_outputs(self, outputs: Any, row_count: int, widths: set[int]) -> None:
        torch = import_torch()
        is_tensor = isinstance(outputs, torch.Tensor) and outputs.is_floating_point()
        if is_tensor and outputs.ndim == 2 and outputs.shape[0] == row_count and outputs.shape[1] in widths:
            return
        columns = " or ".join(str(width) for width in sorted(widths))
        shape = f"shape {tuple(outputs.shape)} of {outputs.dtype}" if isinstance(outputs, torch.Tensor) else None
        raise InputError(
            f"model {self.name} returns outputs of another form",
            expected=f"real numbers of shape (rows, {columns}), here ({row_count}, {columns}): a logit for each class, "
            "or one column for a regression",
            got=shape or type(outputs).__name__,
            cure="correct the module's last layer, or the job's classes",
        )

    def _failed(self, error: BaseException) -> InputError:
        return InputError(
            f"model {self.name} raised",
            expected=f"a module that takes rows of {self.column_count} columns",
            got=self._describe_failure(error),
            cure="run the module by itself on such rows and correct it",
        )
