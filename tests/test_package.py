"""The package's face: what `import hekat` offers, loaded when asked for."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

import hekat


def test_version_is_the_installed_one():
    assert hekat.__version__ == version("hekat")


def test_everything_promised_is_there():
    assert set(hekat.__all__) <= set(dir(hekat))
    assert callable(hekat.array)
    assert callable(hekat.paillier.generate_keys)
    assert callable(hekat.rsa.generate_keys)
    assert hekat.lattice.choose_parameters(16, 10).name == "A16-16"
    assert hekat.bigint.array([2**64]).tolist() == [2**64]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'pailier'"):
        _ = hekat.pailier


def test_importing_hekat_loads_none_of_its_parts():
    code = "import sys, hekat; print(sorted(name for name in sys.modules if name in {'numpy'} or 'hekat.' in name))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"
