"""Refusals of settings in the words of whoever calls an estimator: parameters, and not the keys of a job file."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from hekat.errors import HekatError

P = ParamSpec("P")
T = TypeVar("T")

# Keys whose parameter has another name than the key.
_PARAMETERS = {
    "protection.kind": "protection",
    "label_leak.accepted": "label_leak_accepted",
    "column_leak.accepted": "column_leak_accepted",
    "slope_leak.accepted": "slope_leak_accepted",
    "bin_leak.accepted": "bin_leak_accepted",
    "label_privacy.epsilon": "label_privacy",
    "intersection.kind": "intersection",
    "training.rounds": "rounds",
    "model.name": "the estimator's class",
    "model.task": "the kind of labels",
}
_SECTIONS = (
    "training|protection|fixed_point|prediction|model|codec|label_leak|column_leak|slope_leak|bin_leak|label_privacy|"
    "network|intersection|validation"
)
_KEY = re.compile(rf"(?:\bthe job's )?(?<![\w.])((?:{_SECTIONS})\.\w+)")
# What sites have to allow besides: an estimator is asked by nobody but its caller.
_POLICY = re.compile(r" and every site (?:and )?(?:policy\.\w+ = true(?: and )?)+")

# Where a job's table is put right, and an estimator's X has to be.
_OF_SITE_FILES = {
    ", or ignore columns in the site file": ", or leave columns out at both",
    'in the site file, dates = ["COLUMN"] makes days since 1970-01-01 of them, ignore leaves the column out': "make "
    "numbers of them, such as days since one date, or leave the column out",
    "name the column under id or ignore in the site file, or": "name the column in id, leave it out, or",
    "leave the line out": "leave it out",
    "name the column under ignore in the site file": "leave the column out",
}


def in_parameters(method: Callable[P, T]) -> Callable[P, T]:
    """Have an estimator's method raise HekatErrors that name its parameters."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except HekatError as error:
            error.reword(to_parameters)
            raise

    return call


def to_parameters(text: str) -> str:
    """`text` with every key of a job, such as `training.epochs`, as the parameter that stands for it."""
    named = _KEY.sub(lambda key: _PARAMETERS.get(key[1], key[1].partition(".")[2]), text)
    named = _POLICY.sub("", named)
    for of_site_file, here in _OF_SITE_FILES.items():
        named = named.replace(of_site_file, here)
    named = named.replace("let the job say ", "set ")
    return named.replace(" in the job file", "").replace(" in the job", "")
