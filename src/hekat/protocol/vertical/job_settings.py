"""Refusals of what a job says of parties with columns of the same rows, each by its name in the job file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from hekat.errors import JobError


def refuse_setting(name: str, expected: str, got: object) -> NoReturn:
    """Raise JobError for the setting `name`, such as "training.epochs"."""
    raise JobError(f"{name} refused", expected=expected, got=str(got), cure=f"correct {name} in the job")


def check_choice(name: str, value: str, known: Sequence[str]) -> None:
    """Raise JobError unless `value` is one of the `known`."""
    if value not in known:
        refuse_setting(name, " or ".join(repr(one) for one in known), repr(value))


def check_parties(hosts: Sequence[str], everyone: Sequence[str], roles: str = "guest and hosts") -> None:
    """Raise JobError where there is no host, or where two of `everyone`, called `roles`, have one name."""
    if not hosts:
        refuse_setting("hosts", "one host or more, each with columns of its own", "none")
    repeated = sorted({name for name in everyone if everyone.count(name) > 1})
    if repeated:
        refuse_setting(roles, "a different name for each", ", ".join(repeated))


def check_task_classes(task: str, classes: Sequence[str] | None) -> None:
    """Raise JobError for classes that the task "regression", "binary" or "multiclass" cannot have."""
    if task == "regression" and classes is not None:
        refuse_setting("classes", "none for a regression", f"{len(classes)} classes")
    if task == "binary" and len(classes or ()) != 2:
        refuse_setting("classes", "2 classes for the task 'binary'", f"{len(classes or ())}")
    if task == "multiclass" and len(classes or ()) < 3:
        refuse_setting("classes", "3 classes or more for the task 'multiclass'", f"{len(classes or ())}")
    check_different(classes)


def check_different(classes: Sequence[str] | None) -> None:
    """Raise JobError for a class that is named twice."""
    if classes is not None and len(set(classes)) != len(classes):
        refuse_setting("classes", "each class once", "one that repeats")
