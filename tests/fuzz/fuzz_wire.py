"""Coverage-guided fuzzing of everything that reads wire bytes: `python tests/fuzz/fuzz_wire.py -runs=1000000`.

Takes libFuzzer's options (`-runs`, `-max_total_time`, `-seed` and so on) and needs atheris. An input's first byte
chooses the kind of object asked for, and whether the rest is a whole frame or a body that gets a frame whose checksum
holds, so that the checksum does not stop the fuzzer. What must hold for any input: a WireError or KeyRefusedError, or
an object that is written back to equal bytes. An input for which it does not is left in the current folder.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
REGRESSIONS = HERE / "corpus"
OPTIONS = {"-max_len": "2048", "-rss_limit_mb": "2048", "-timeout": "20", "-print_final_stats": "1"}
WHOLE_FRAME = 0x80
CHILD = "--fuzz-here"


def build_target() -> tuple[Callable[[bytes], bool], list[bytes]]:
    """The check to run on every input (true where an object was read), and inputs that hold valid objects."""
    sys.path.insert(0, str(HERE))
    from wire_objects import ENGINE, key_for, small_objects

    from hekat.errors import KeyRefusedError, WireError
    from hekat.wire import from_bytes, to_bytes
    from hekat.wire.frame import read_frame, write_frame
    from hekat.wire.kinds import kind_of

    objects = small_objects()
    kinds = [kind_of(type(one)) for one in objects]

    def check(data: bytes) -> bool:
        if not data:
            return False
        kind = kinds[(data[0] & ~WHOLE_FRAME) % len(kinds)]
        frame = data[1:] if data[0] & WHOLE_FRAME else write_frame(kind.name, kind.version, data[1:])
        try:
            read = from_bytes(frame, kind.cls, public_key=key_for(kind.cls), engine=ENGINE, unsafe_for_benchmark=True)
        except (WireError, KeyRefusedError):
            return False
        assert to_bytes(read) == frame, f"{kind.name} is not canonical"
        return True

    seeds = []
    for index, one in enumerate(objects):
        frame = to_bytes(one)
        seeds += [bytes([index]) + bytes(read_frame(frame).body), bytes([index | WHOLE_FRAME]) + frame]
    return check, seeds


def wire_functions() -> list[types.FunctionType]:
    """Every function and method of hekat.wire.

    Instrumented one by one, since an import hook would have to get along with the one of an editable install.
    """
    owners: list[object] = [module for name, module in sys.modules.items() if name.startswith("hekat.wire")]
    owners += [one for module in list(owners) for one in vars(module).values() if isinstance(one, type)]
    found = [one for owner in owners for one in vars(owner).values() if isinstance(one, types.FunctionType)]
    return list({id(one): one for one in found if one.__module__.startswith("hekat.wire")}.values())


def fuzz_here(arguments: list[str]) -> None:
    """Run libFuzzer in this process; does not return."""
    import atheris

    check, seeds = build_target()
    for function in wire_functions():
        atheris.instrument_func(function)
    corpus = Path(arguments[0])
    for index, seed in enumerate(seeds):
        (corpus / f"seed-{index}").write_bytes(seed)

    def run_one(data: bytes) -> None:
        check(data)

    atheris.Setup([sys.argv[0], *arguments], run_one)
    atheris.Fuzz()


def main(arguments: list[str]) -> int:
    """Fuzz in a child process with a corpus that is thrown away afterwards; the child's exit status."""
    given = {argument.split("=", 1)[0] for argument in arguments}
    options = [f"{name}={value}" for name, value in OPTIONS.items() if name not in given]
    folders = [str(REGRESSIONS)] if REGRESSIONS.is_dir() else []
    with tempfile.TemporaryDirectory(prefix="hekat-fuzz-") as corpus:
        command = [sys.executable, __file__, CHILD, corpus, *folders, *options, *arguments]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    if CHILD in sys.argv[1:2]:
        fuzz_here(sys.argv[2:])
    sys.exit(main(sys.argv[1:]))
