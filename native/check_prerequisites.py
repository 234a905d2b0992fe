"""Says in one sentence what this machine lacks for a build of Hekat, before pip and CMake say it in a hundred lines.

`make` runs it under the Python that it was given, whatever that is: the syntax is that of every Python.
"""

import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMPILERS = ("c++", "g++", "clang++")
PROGRAM = "#include <bit>\n#include <concepts>\n#include <span>\nint main() { return std::popcount(0U); }\n"


def python_range():
    """(least, first too new), as pyproject.toml says them to pip."""
    with open(os.path.join(ROOT, "pyproject.toml")) as file:
        found = re.search(r'^requires-python = ">=3\.(\d+),<3\.(\d+)"$', file.read(), re.MULTILINE)
    return (3, int(found.group(1))), (3, int(found.group(2)))


def lacking_python(version):
    """What is wrong with a Python of this (major, minor), and the cure; "" where nothing is."""
    least, too_new = python_range()
    if least <= tuple(version[:2]) < too_new:
        return ""
    return "Hekat needs Python 3.{} to 3.{}, and this is Python {}.{}: make PYTHON=python3.{} ...".format(
        least[1], too_new[1] - 1, version[0], version[1], too_new[1] - 1
    )


def lacking_venv():
    """The same for the modules that make an environment: Debian and Ubuntu have them in a package of their own."""
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        return "This Python cannot make environments: sudo apt-get install python{}.{}-venv".format(
            sys.version_info[0], sys.version_info[1]
        )
    return ""


def lacking_compiler():
    """The same for a compiler of C++20, the one of the variable CXX or one of the usual names."""
    named = os.environ.get("CXX")
    for compiler in [named] if named else COMPILERS:
        if compiles(compiler):
            return ""
    if named:
        return "CXX={} compiles no C++20: set CXX to GCC 11, Clang 14 or newer, or unset it".format(named)
    return "Hekat needs a compiler of C++20 (GCC 11, Clang 14 or newer): sudo apt-get install g++ (Fedora: gcc-c++)"


def compiles(compiler):
    """Whether the compiler is there and takes PROGRAM."""
    folder = tempfile.mkdtemp()
    source = os.path.join(folder, "program.cpp")
    try:
        with open(source, "w") as file:
            file.write(PROGRAM)
        with open(os.devnull, "w") as nowhere:
            command = compiler.split() + ["-std=c++20", "-fsyntax-only", source]
            return subprocess.call(command, stdout=nowhere, stderr=nowhere) == 0
    except OSError:
        return False
    finally:
        os.remove(source)
        os.rmdir(folder)


if __name__ == "__main__":
    sys.exit(lacking_python(sys.version_info) or lacking_venv() or lacking_compiler() or 0)
