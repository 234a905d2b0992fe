#!/usr/bin/env bash
# Everything that needs a GPU, in one command: the conformance suite on it, compute-sanitizer, the measurements.
#
#   PYTHON   the interpreter, with hekat installed in it (python3 if unset)
#   SITE     where hekat is built for PYTHON if it is not installed there (build/gpu-site if unset)
#   WHEELS   a folder of wheels that PYTHON lacks, unpacked into SITE
#   STEPS    which steps to take (all if unset): conformance sanitizer bench
#   DEVICE   the GPU (cuda:0 if unset)
#
# No network is needed where PYTHON has CuPy, NumPy, SciPy, scikit-learn, rich and pytest, and for a build nanobind,
# scikit-build-core, CMake and ninja. What it lacks is carried there as wheels, which on a machine with a network is
#   python3 -m pip download --only-binary=:all: --python-version 3.12 --platform manylinux_2_28_x86_64 \
#     --no-deps -d wheels gmpy2 msgpack cryptography cffi pycparser
# Exits with 2 where something is missing: what, and how to get it; with 1 where a step fails.
set -uo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}
SITE=${SITE:-build/gpu-site}
WHEELS=${WHEELS:-}
STEPS=${STEPS:-conformance sanitizer bench}
export DEVICE=${DEVICE:-cuda:0}
failed=()

missing() {
    printf '%s\n' "$@" >&2
    exit 2
}

# --- the interpreter and what it needs ---------------------------------------------------------------------

if [ -n "$WHEELS" ]; then
    "$PYTHON" -m pip install --quiet --no-index --no-deps --upgrade --target "$SITE/wheels" "$WHEELS"/*.whl || exit 2
fi
export PYTHONPATH="$SITE/wheels${PYTHONPATH:+:$PYTHONPATH}"
if ! "$PYTHON" -c 'import hekat._native' 2>/dev/null; then
    echo "building hekat for $("$PYTHON" --version) into $SITE"
    "$PYTHON" -m pip install --quiet --no-index --no-deps --no-build-isolation --upgrade --target "$SITE/hekat" . ||
        missing "hekat does not build: it needs nanobind, scikit-build-core, CMake, ninja and a C++ compiler"
    export PYTHONPATH="$SITE/hekat:$PYTHONPATH"
fi
"$PYTHON" - <<'EOF' || exit 2
import importlib.util
import os
import sys

needed = "cryptography cupy gmpy2 hypothesis msgpack numpy pytest rich scipy sklearn".split()
lacking = [name for name in needed if importlib.util.find_spec(name) is None]
if lacking:
    print(f"{sys.executable} lacks {', '.join(lacking)}: carry wheels of them and name their folder in WHEELS "
          "(the head of tests/gpu_suite.sh says how)", file=sys.stderr)
    sys.exit(2)
from hekat.engine.select import get_engine
from hekat.errors import EngineError

try:
    described = get_engine(os.environ["DEVICE"]).describe()
except EngineError as error:
    print(error, file=sys.stderr)
    sys.exit(2)
for key, value in described.items():
    print(f"{key}: {value}")
EOF

# --- steps -------------------------------------------------------------------------------------------------

# Of pytest's settings only those that need no plugin: pytest-timeout and pytest-xdist may not be there.
PYTEST=("$PYTHON" -m pytest -q -p no:cacheprovider -o "addopts=-ra --import-mode=importlib")
if "$PYTHON" -c 'import xdist' 2>/dev/null; then
    # Few workers: each has a context of its own on the GPU.
    PARALLEL=(--numprocesses 4 --dist worksteal)
else
    PARALLEL=()
fi

step() {
    echo "--- $1"
    shift
    "$@" || failed+=("$*")
}

# Every operation once, on few items, of keys whose numbers lie in one thread and in several.
sanitized() {
    step "compute-sanitizer $1" compute-sanitizer --tool "$1" --target-processes all --error-exitcode 9 \
        "$PYTHON" benchmarks/bench_cuda.py --device "$DEVICE" --quick --key-bits 512 1024 2048
}

for name in $STEPS; do
    case $name in
    conformance)
        step "conformance on $DEVICE" "${PYTEST[@]}" "${PARALLEL[@]}" -m "not long" tests/conformance --engines "$DEVICE"
        ;;
    sanitizer)
        if ! command -v compute-sanitizer >/dev/null; then
            echo "NOT DONE: compute-sanitizer is not on the PATH; it is part of the CUDA toolkit" >&2
            failed+=("compute-sanitizer is missing")
            continue
        fi
        for tool in memcheck racecheck synccheck; do sanitized $tool; done
        ;;
    bench)
        step "measurements" "$PYTHON" benchmarks/bench_cuda.py --device "$DEVICE"
        ;;
    *)
        missing "there is no step $name: conformance, sanitizer, bench"
        ;;
    esac
done

if [ ${#failed[@]} -gt 0 ]; then
    printf 'FAILED: %s\n' "${failed[@]}" >&2
    exit 1
fi
echo "all steps passed: $STEPS"
