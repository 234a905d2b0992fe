"""Compiling kernels: what is kept and where, what is not trusted, and what the compiler is given."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec

import pytest

from hekat.engine.cuda import compile as compile_module
from hekat.engine.cuda.compile import OPTIONS as ALL_KERNELS_OPTIONS
from hekat.engine.cuda.compile import Compiler, choose_architecture, compile_source, read_sources
from hekat.engine.cuda.kernel_cache import KernelCache, find_cache
from hekat.errors import EngineError

OPTIONS = ("-DHEKAT_THREADS=4", "-DHEKAT_LIMBS=16", "-DHEKAT_PAIRS=1")


class FakeNvrtc:
    """Functions of cupy.cuda.nvrtc; its machine code tells what it was made of."""

    class NVRTCError(RuntimeError):
        pass

    def __init__(self, version: tuple[int, int] = (13, 0), log: str = "") -> None:
        self.version = version
        self.log = log
        self.programs: dict[int, tuple] = {}
        self.compiled: list[tuple] = []

    def getVersion(self):
        return self.version

    def getSupportedArchs(self):
        return (75, 80, 90)

    def createProgram(self, source, name, headers, include_names):
        assert all(isinstance(x, bytes) for x in [*headers, *include_names])
        self.programs[len(self.programs)] = (source, name, tuple(include_names))
        return len(self.programs) - 1

    def compileProgram(self, program, options):
        if self.log:
            raise self.NVRTCError("NVRTC_ERROR_COMPILATION (6)")
        self.compiled.append((self.programs[program][1], tuple(options)))

    def getCUBIN(self, program):
        return repr((self.programs[program][1], self.compiled[-1])).encode()

    def getProgramLog(self, program):
        return self.log

    def destroyProgram(self, program):
        del self.programs[program]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "kernels"


def compile_anew(folder, nvrtc=None, options=OPTIONS, capability="90"):
    """By a compiler that remembers nothing, as in a new process; also what NVRTC compiled."""
    nvrtc = nvrtc or FakeNvrtc()
    kernel = Compiler(nvrtc, capability, KernelCache(folder)).compile("mod_mul", options)
    return kernel, nvrtc.compiled


def test_a_kernel_is_compiled_once_for_all_processes(folder):
    nvrtc = FakeNvrtc()
    compiler = Compiler(nvrtc, "90", KernelCache(folder))
    first = compiler.compile("mod_mul", OPTIONS)
    assert compiler.compile("mod_mul", list(OPTIONS)) == first
    assert nvrtc.compiled == [("mod_mul.cu", ("-arch=sm_90", *ALL_KERNELS_OPTIONS, *OPTIONS))]
    assert nvrtc.programs == {}
    assert compile_anew(folder) == (first, [])


def test_whatever_the_code_depends_on_is_told_apart(folder, monkeypatch):
    compile_anew(folder)
    for changed in ({"options": OPTIONS[:2]}, {"capability": "80"}, {"nvrtc": FakeNvrtc((13, 1))}):
        assert len(compile_anew(folder, **changed)[1]) == 1
    monkeypatch.setattr(compile_module, "_digest_sources", lambda: "another header")
    assert len(compile_anew(folder)[1]) == 1
    assert len(list(folder.iterdir())) == 5


@pytest.mark.parametrize("damage", [b"", b"hekat kernel 1\n", None])
def test_a_damaged_file_is_compiled_again(folder, damage):
    right, _ = compile_anew(folder)
    [file] = folder.iterdir()
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]) if damage is None else damage)
    assert compile_anew(folder) == (right, [("mod_mul.cu", ("-arch=sm_90", *ALL_KERNELS_OPTIONS, *OPTIONS))])
    # And it is whole again.
    assert compile_anew(folder) == (right, [])


def test_the_folder_is_for_this_user_only(folder):
    compile_anew(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    [file] = folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_folder_that_others_can_write_is_not_used(folder, mode):
    compile_anew(folder)
    folder.chmod(mode)
    before = sorted(folder.iterdir())
    assert len(compile_anew(folder)[1]) == 1
    assert len(compile_anew(folder, options=OPTIONS[:1])[1]) == 1
    assert sorted(folder.iterdir()) == before
    assert KernelCache(folder).describe().startswith("not used: ")
    folder.chmod(0o700)
    assert KernelCache(folder).describe() == str(folder)


def test_a_file_that_others_can_write_is_not_used(folder):
    compile_anew(folder)
    [file] = folder.iterdir()
    file.chmod(0o620)
    assert len(compile_anew(folder)[1]) == 1
    # What was compiled again lies there now, as a file of its own.
    assert file.stat().st_mode & 0o777 == 0o600
    assert compile_anew(folder)[1] == []


def test_files_and_folders_behind_links_are_not_used(folder, tmp_path):
    compile_anew(folder)
    [file] = folder.iterdir()
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert len(compile_anew(folder)[1]) == 1
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert len(compile_anew(link)[1]) == 1


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file_is_not_read(folder, make):
    compile_anew(folder)
    [file] = folder.iterdir()
    file.unlink()
    make(file, 0o600)
    assert KernelCache(folder).load(file.name) is None
    assert len(compile_anew(folder)[1]) == 1


def test_files_of_another_user_are_not_used(folder, monkeypatch):
    compile_anew(folder)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    assert len(compile_anew(folder)[1]) == 1


def test_kernels_compile_without_a_folder(tmp_path):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("no folder")
    for place in (None, in_the_way, in_the_way / "kernels"):
        assert len(compile_anew(place)[1]) == 1


def test_where_the_folder_is(monkeypatch, tmp_path):
    monkeypatch.setenv("HEKAT_CACHE", str(tmp_path / "asked"))
    assert find_cache().folder == tmp_path / "asked" / "kernels"
    monkeypatch.delenv("HEKAT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert find_cache().folder == tmp_path / "xdg" / "hekat" / "kernels"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_cache().folder == tmp_path / ".cache" / "hekat" / "kernels"


def test_an_error_of_the_compiler_is_told(folder):
    log = 'lane.cuh(3): warning #1: old\n\nmod_mul.cu(7): error: identifier "x" is undefined\n  x = 1;\n1 error\n'
    nvrtc = FakeNvrtc(log=log)
    with pytest.raises(EngineError, match="mod_mul does not compile") as refusal:
        compile_anew(folder, nvrtc)
    assert refusal.value.got.startswith('mod_mul.cu(7): error: identifier "x" is undefined; x = 1;')
    assert "-arch=sm_90" in refusal.value.expected
    assert nvrtc.programs == {}


@pytest.mark.parametrize(
    ("capability", "chosen"), [("90", "sm_90"), ("80", "sm_80"), ("86", "sm_80"), ("89", "sm_80"), ("75", "sm_75")]
)
def test_the_code_is_for_the_gpu_or_one_whose_code_it_runs(capability, chosen):
    assert choose_architecture(capability, (75, 80, 90), (13, 0)) == chosen


def test_a_gpu_that_the_compiler_does_not_know_is_refused():
    with pytest.raises(EngineError, match=r"sm_120.*NVRTC 12\.4.*upgrade nvidia-cuda-nvrtc-cu12"):
        choose_architecture("120", (80, 90), (12, 4))
    with pytest.raises(EngineError, match="older CUDA"):
        choose_architecture("61", (75, 80, 90), (13, 0))


def test_a_compiler_that_cannot_be_loaded_is_an_error_with_its_cure(folder):
    class Missing(FakeNvrtc):
        def getVersion(self):
            raise RuntimeError("libnvrtc.so.13: cannot open shared object file\nand more")

    with pytest.raises(
        EngineError, match=r"cannot be loaded.*libnvrtc\.so\.13.*pip install nvidia-cuda-nvrtc"
    ) as refusal:
        compile_anew(folder, Missing())
    assert "and more" not in str(refusal.value)


def test_each_file_that_a_kernel_includes_is_there():
    sources = read_sources()
    assert "mod_mul.cu" in sources
    assert "carry.cuh" in sources
    for name, text in sources.items():
        for included in re.findall(rb'^\s*#include\s*["<](.*?)[">]', text, re.MULTILINE):
            assert included.decode() in sources, f"{name} includes {included!r}"


@pytest.mark.skipif(find_spec("cupy") is None, reason="needs hekat[cuda13]")
def test_a_kernel_compiles():
    from cupy.cuda import nvrtc

    code, log = compile_source(nvrtc, "mod_mul", OPTIONS, "sm_90", report=True)
    assert code.startswith(b"\x7fELF")
    assert "Compiling entry function 'mod_mul' for 'sm_90'" in log
    with pytest.raises(EngineError, match=r"mod_mul does not compile.*a group is part of a warp"):
        compile_source(nvrtc, "mod_mul", ("-DHEKAT_THREADS=3",), "sm_90")
