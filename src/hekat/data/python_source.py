"""Gets a table from a function in a Python file beside the site file: the site's own code, never the job's."""

from __future__ import annotations

import difflib
import importlib.util
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from hekat.data.source_file import readable_file
from hekat.data.table import Table
from hekat.errors import InputError


def load_python(
    function: str, folder: Path, arguments: Mapping[str, Any] | None = None, *, name: str | None = None
) -> Table:
    """What `function` ("module:function", the module a file in `folder`) returns: a Table, or (X, y, names).

    y may be None. Raises InputError, also for whatever the function raises; the message has its type and line only.
    """
    module_name, _, function_name = function.partition(":")
    parts = module_name.split(".")
    if not function_name.isidentifier() or not all(part.isidentifier() for part in parts):
        raise InputError(
            "a Python source is not written as module:function",
            expected="for example 'hospital_data:load'",
            got=repr(function),
            cure="correct function in the site file",
        )
    path = folder.joinpath(*parts).with_suffix(".py")
    module = _load_module(path)
    loader = getattr(module, function_name, None)
    if not callable(loader):
        close = difflib.get_close_matches(function_name, [key for key in vars(module) if key[0] != "_"], n=1)
        raise InputError(
            f"{path} has no function {function_name!r}",
            expected="a function that returns (X, y, names)",
            got="nothing of that name",
            cure=f"did you mean {close[0]!r}?" if close else "correct function in the site file",
        )
    wanted = dict(arguments or {})
    try:
        inspect.signature(loader).bind(**wanted)
    except TypeError as error:
        raise InputError(
            f"{function} does not take the site file's arguments",
            expected=f"{function_name}{inspect.signature(loader)}",
            got=str(error),
            cure="correct arguments in the site file",
        ) from None
    try:
        result = loader(**wanted)
    except Exception as error:
        raise _failed(f"{function} raised", error, path) from error
    return _as_table(result, function, name or function)


def _load_module(path: Path) -> ModuleType:
    # Registered while it is executed because dataclasses and typing look a module up by name; under a name of its own,
    # so that a site's file can neither be taken for nor take the place of an installed module.
    name = f"hekat_site_source_{path.resolve().as_posix().encode().hex()}"
    with readable_file(path):
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise InputError(f"{path} cannot be loaded", expected="a Python file", got=path.suffix)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:
            sys.modules.pop(name, None)
            raise _failed(f"{path} cannot be loaded", error, path) from error
    return module


def _failed(what: str, error: BaseException, path: Path) -> InputError:
    """The refusal for the site's own code; its message is left out, since it may hold a value."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    traceback = error.__traceback__
    while traceback is not None:
        if Path(traceback.tb_frame.f_code.co_filename) == path:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return InputError(
        what,
        expected="a function that returns (X, y, names)",
        got=type(error).__name__ + (f" at line {line}" if line else ""),
        cure=f"run the function in {path} by itself and correct it",
    )


def _as_table(result: Any, function: str, name: str) -> Table:
    if isinstance(result, Table):
        return Table(result.features, result.labels, result.feature_names, name)
    if not isinstance(result, tuple) or len(result) != 3:
        got = f"a tuple of {len(result)}" if isinstance(result, tuple) else type(result).__name__
        raise InputError(
            f"{function} does not return a table",
            expected="a hekat.data.Table or (X, y, names)",
            got=got,
            cure="return the features, the labels (or None) and the column names",
        )
    features, labels, names = result
    if isinstance(names, str):
        raise InputError(f"{function} returns one text for its column names", expected="one text for each column")
    return Table(features, labels, tuple(str(column) for column in names), name)
