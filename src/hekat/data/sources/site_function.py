"""Finds and calls a function in a Python file beside the site file: the site's own code, never the job's."""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from hekat.data.sources.source_file import readable_file
from hekat.errors import InputError


@dataclass(frozen=True)
class SiteFunction:
    """`text` is "module:function", `returns` what it has to return, in words for refusals; `code` is the SHA-256 (hex)
    of the very bytes that the function was made of."""

    text: str
    path: Path
    returns: str
    code: str
    function: Callable[..., Any] = field(repr=False)

    def takes(self, argument: str) -> bool:
        """Whether the function declares a keyword argument of that name, or takes any."""
        parameters = inspect.signature(self.function).parameters
        is_open = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
        return is_open or argument in parameters

    def call(self, arguments: Mapping[str, Any]) -> Any:
        """What the function returns. Raises InputError, also for whatever it raises: its type and line only."""
        name = self.text.partition(":")[2]
        try:
            inspect.signature(self.function).bind(**arguments)
        except TypeError as error:
            raise InputError(
                f"{self.text} does not take the site file's arguments",
                expected=f"{name}{inspect.signature(self.function)}",
                got=str(error),
                cure="correct arguments in the site file",
            ) from None
        try:
            return self.function(**arguments)
        except (Exception, SystemExit) as error:
            raise _failed(f"{self.text} raised", error, self.path, self.returns) from error


def load_function(text: str, folder: Path, *, returns: str, example: str) -> SiteFunction:
    """The function that `text` ("module:function", the module a file in `folder`) names. Raises InputError."""
    module_name, _, function_name = text.partition(":")
    parts = module_name.split(".")
    if not function_name.isidentifier() or not all(part.isidentifier() for part in parts):
        raise InputError(
            "a Python source is not written as module:function",
            expected=f"for example {example!r}",
            got=repr(text),
            cure="correct function in the site file",
        )
    path = folder.joinpath(*parts).with_suffix(".py")
    module, code = _load_module(path, returns)
    function = getattr(module, function_name, None)
    if not callable(function):
        close = difflib.get_close_matches(function_name, [key for key in vars(module) if key[0] != "_"], n=1)
        raise InputError(
            f"{path} has no function {function_name!r}",
            expected=f"a function that returns {returns}",
            got="nothing of that name",
            cure=f"did you mean {close[0]!r}?" if close else "correct function in the site file",
        )
    return SiteFunction(text, path, returns, code, function)


def describe_failure(error: BaseException, path: Path) -> str:
    """The type of the exception of the code at `path`, and its line there; its text is left out, since it may hold a
    value."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    traceback = error.__traceback__
    while traceback is not None:
        if Path(traceback.tb_frame.f_code.co_filename) == path:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return type(error).__name__ + (f" at line {line}" if line else "")


class _SourceLoader(SourceFileLoader):
    """Runs the file's bytes as they are, whose SHA-256 (hex) is `digest`: bytecode that Python has cached may be of a
    file that was edited since, within one second."""

    digest = ""

    def get_code(self, fullname: str) -> CodeType:
        source = self.get_data(self.path)
        self.digest = hashlib.sha256(source).hexdigest()
        return self.source_to_code(source, self.path)


def _load_module(path: Path, returns: str) -> tuple[ModuleType, str]:
    """The module, executed, and the SHA-256 (hex) of its source."""
    # Registered while it is executed because dataclasses and typing look a module up by name; under a name of its own,
    # so that a site's file can neither be taken for nor take the place of an installed module.
    name = f"hekat_site_source_{path.resolve().as_posix().encode().hex()}"
    with readable_file(path):
        loader = _SourceLoader(name, str(path))
        spec = importlib.util.spec_from_file_location(name, path, loader=loader)
        if spec is None:
            raise InputError(f"{path} cannot be loaded", expected="a Python file", got=path.suffix)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            loader.exec_module(module)
        except (Exception, SystemExit) as error:
            sys.modules.pop(name, None)
            raise _failed(f"{path} cannot be loaded", error, path, returns) from error
    return module, loader.digest


def _failed(what: str, error: BaseException, path: Path, returns: str) -> InputError:
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    package = "'hekat[torch]'" if missing == "torch" else missing
    return InputError(
        what,
        expected=f"a function that returns {returns}",
        got=describe_failure(error, path),
        cure=f"pip install {package}" if package else f"run the function in {path} by itself and correct it",
    )
