"""The algorithms by the names that a job gives them; a further one is a file beside these and a line here."""

from __future__ import annotations

from hekat.protocol.horizontal.training.algorithms.algorithm import Algorithm
from hekat.protocol.horizontal.training.algorithms.fedavg import FedAvg
from hekat.protocol.horizontal.training.algorithms.fedprox import FedProx
from hekat.protocol.horizontal.training.algorithms.fedsgd import FedSgd
from hekat.protocol.horizontal.training.algorithms.lbfgs import Lbfgs
from hekat.protocol.horizontal.training.algorithms.scaffold import Scaffold

_ALL: tuple[Algorithm, ...] = (FedSgd(), FedAvg(), FedProx(), Scaffold(), Lbfgs())
ALGORITHMS = {one.name: one for one in _ALL}
