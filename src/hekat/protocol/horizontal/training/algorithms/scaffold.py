"""SCAFFOLD: local steps without the difference between a party's gradient and all parties', by control variates.

c_i estimates party i's gradient and c all parties' gradient: c = sum over all parties of n_i c_i / n, with n_i
party i's rows and n all parties' rows, so that the corrections c - c_i, weighted so, cancel out over the parties. Both
begin at zero. After K local steps of rate eta from x to y party i sends y - x and

    c_i+ - c_i  with  c_i+ = c_i - c + (x - y) / (K eta)

which is the mean gradient over its local steps (option II). The round's sum gives m, the mean of the changes that the
parties S of the round sent, with weights n_i. So that c stays the mean above, it moves by the share of the rows that
moved:

    c <- c + (n_S / n) m,  n_S = sum over S of n_i.

With equal rows at all parties that is the paper's |S| / N. A party that drops out leaves its last c_i in c: its rows
still count in the direction of the others' steps, as they last were, and do so until it comes back in a resumed run.

A party adds to its own c_i the change that it sent, after clipping and rounding, not the unrounded change: otherwise c
and the c_i would drift apart for good. The next difference again includes the part that clipping took.

Source: Karimireddy et al. 2020, Algorithm 1, with weights n_i / n in place of 1 / N.
"""

from __future__ import annotations

from hekat.protocol.horizontal.training.algorithms.algorithm import Algorithm, LocalSettings, LocalTask, LocalWork
from hekat.protocol.horizontal.training.algorithms.local_steps import refuse_proximal_mu, take_local_steps
from hekat.protocol.horizontal.training.trained_tensors import CONTROL
from hekat.protocol.secure_sum.streamed_tensor import Tensors

ROW_COUNT_STEP = "scaffold/rows"
"""The one sum that tells n, before the first round."""


class Scaffold(Algorithm):
    """Source: Karimireddy et al. 2020, Algorithm 1, option II."""

    name = "scaffold"
    steps_before_rounds = (ROW_COUNT_STEP,)
    has_control = True

    def check(self, training: LocalSettings) -> None:
        refuse_proximal_mu(self.name, training)

    def work(self, task: LocalTask) -> LocalWork:
        correction = task.correction
        assert correction is not None  # every party of the job has control variates
        return take_local_steps(task, lambda name, gradient, current: gradient + correction[name])


def correction_of(shared: Tensors, own: Tensors) -> Tensors:
    """c - c_i, what is added to each local gradient."""
    return {name: shared[name] - own[name] for name in shared}


def control_change(update: Tensors, shared: Tensors, step_count: int, learning_rate: float) -> Tensors:
    """c_i+ - c_i of a party whose `step_count` local steps changed the weights by `update`, under the control names."""
    factor = 1.0 / (step_count * learning_rate)
    return {f"{CONTROL}{name}": -update[name] * factor - shared[name] for name in shared}


def move_shared(shared: Tensors, mean: Tensors, share: float) -> Tensors:
    """c after a round whose mean is `mean`; `share` is n_S / n."""
    return {name: values + share * mean[f"{CONTROL}{name}"] for name, values in shared.items()}
