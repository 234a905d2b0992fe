# Everything a newcomer runs: `make demo`, `make test`. Each target does the set-up it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CONSTRAINTS := constraints.txt
# What an editable install must be told of: native sources, and new packages.
BUILT_FROM := CMakeLists.txt $(shell find native/src -type f) $(shell find src -name __init__.py)

# Bytecode is kept also where the environment says not to: else every process compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE

# Two installs into one environment would spoil each other.
.NOTPARALLEL:

.PHONY: help demo demo-nvflare demo-flower test test-fast test-all coverage test-native test-sanitized test-constant-time test-portable-cpu test-gpu lint format fuzz bench bench-attacks bench-cuda bench-first-day bench-network bench-networks bench-privacy bench-training bench-trees bench-vertical build docs images clean

help:
	@echo "make demo      five hospitals train one model, every update encrypted (about a minute after the build)"
	@echo "make demo LOSE=county:5   the same, and one of them is lost in the middle of round 5"
	@echo "make demo-nvflare   three hospitals as sites of NVIDIA FLARE over mutual TLS (about a minute after the build)"
	@echo "make demo-flower    three hospitals as SuperNodes of Flower, an unmodified app and one mod (minutes)"
	@echo "make test      linters, types, layers and the quick tests (under five minutes on 2 cores; a minute or two more the first time)"
	@echo "make test-fast ruff, and the tests that catch most for their time (under a minute), for the loop while one works"
	@echo "make test-all  sanitizer builds, long property and fuzz runs (about half an hour)"
	@echo "make fuzz      10^6 malformed inputs against the wire format (about 6 minutes)"
	@echo "make test-gpu  on a machine with a GPU: conformance on it, compute-sanitizer, measurements (docs/explanation/gpu_kernels.md)"
	@echo "make images    a container image of each role, where docker or podman is there; else they are only looked through"
	@echo "make docs      the documentation as a site in build/site, which needs no network"
	@echo "make bench     the measurements kept in benchmarks/results"
	@echo "make bench-cuda   the measurements of a GPU (about 3 minutes)"
	@echo "make bench-first-day   CSV files to a model, a million rows, two hundred parties (about 5 minutes)"
	@echo "make bench-attacks DATA=FOLDER   what attacks read of masked updates (half an hour)"
	@echo "make bench-privacy   selective sums, sensitivity maps, exact noise (minutes); DATA=FOLDER adds DP beside central DP-SGD (half an hour)"
	@echo "make bench-trees   boosted trees by columns and by rows, beside LightGBM; DATA=FOLDER adds real data (ten minutes, with it half an hour)"
	@echo "make bench-networks   split networks, encrypted models, ResNet50 and VGG16 beside plain; DATA=FOLDER adds AUC (an hour)"
	@echo "make bench-vertical   set intersection and regression by columns; CREDIT=FOLDER adds UCI's credit data (minutes)"
	@echo "make bench-training DATA=FOLDER   the papers' training runs and tables (about two hours)"
	@echo "make bench-network DATA=FOLDER   runs between processes, over slow links, NVIDIA FLARE and Flower (about 30 minutes)"
	@echo "make lint, make format, make test-native, make test-sanitized, make test-constant-time,"
	@echo "make test-portable-cpu: parts of the above"
	@echo "make coverage  the lines of src that make test reaches"
	@echo "make clean     removes what the targets made: .venv, build, caches (runs/ stays)"

$(VENV)/.made:
	@$(PYTHON) native/check_prerequisites.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=23"
	touch $@

# The package with what the demo needs. Editable: a change in src/ is live, a change in native/ rebuilds here.
$(VENV)/.demo: $(VENV)/.made pyproject.toml $(CONSTRAINTS) $(BUILT_FROM)
	$(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) --editable '.[report]'
	touch $@

# The same for developers, with warnings as errors: one build serves both.
$(VENV)/.dev: $(VENV)/.made pyproject.toml $(CONSTRAINTS) $(BUILT_FROM)
	$(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) \
	  --config-settings cmake.define.HEKAT_WARNINGS_AS_ERRORS=ON --editable '.[report,dev]'
	touch $(VENV)/.demo $@

# And with every extra: what measurements need, and the tests that are skipped without them.
$(VENV)/.bench: $(VENV)/.made pyproject.toml $(CONSTRAINTS) $(BUILT_FROM)
	$(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) \
	  --config-settings cmake.define.HEKAT_WARNINGS_AS_ERRORS=ON --editable '.[dev,bench]'
	touch $(VENV)/.demo $(VENV)/.dev $@

# With the engine that carries messages between sites.
$(VENV)/.nvflare: $(VENV)/.made pyproject.toml $(CONSTRAINTS) $(BUILT_FROM)
	$(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) --editable '.[report,nvflare]'
	touch $(VENV)/.demo $@

$(VENV)/.flower: $(VENV)/.made pyproject.toml $(CONSTRAINTS) $(BUILT_FROM)
	$(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) --editable '.[report,flower]'
	touch $(VENV)/.demo $@

$(VENV)/.docs: $(VENV)/.made pyproject.toml $(CONSTRAINTS) $(BUILT_FROM)
	$(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) --editable '.[report,docs]'
	touch $(VENV)/.demo $@

build: $(VENV)/.demo

# LOSE=PARTY:ROUND, or several, stops parties in the middle of a round.
demo: $(VENV)/.demo
	$(BIN)/hekat run examples/hospitals/job.toml $(addprefix --lose ,$(LOSE))

# An aggregator and three hospitals as processes of NVIDIA FLARE, over mutual TLS; ROUNDS=N for fewer or more than 10.
# It needs ports 8002 and 8003, and leaves nothing.
demo-nvflare: $(VENV)/.nvflare
	$(if $(ROUNDS),ROUNDS=$(ROUNDS) )$(BIN)/python examples/hospitals_nvflare.py

# An aggregator and three hospitals over Flower, with an ordinary app; ROUNDS=N for fewer or more than 3. It takes free
# ports of this machine, and leaves nothing.
demo-flower: $(VENV)/.flower
	$(if $(ROUNDS),ROUNDS=$(ROUNDS) )$(BIN)/python examples/hospitals_flower.py

CXX_SOURCES = $(shell find native src tests benchmarks -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' -o -name '*.cuh')
# A user's own scripts may lie beside these.
PYTHON_SOURCES := src tests benchmarks deploy docs docs_build examples security
lint: $(VENV)/.dev
	$(BIN)/ruff check $(PYTHON_SOURCES)
	$(BIN)/ruff format --check $(PYTHON_SOURCES)
	$(BIN)/clang-format --dry-run --Werror $(CXX_SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix $(PYTHON_SOURCES)
	$(BIN)/ruff format $(PYTHON_SOURCES)
	$(BIN)/clang-format -i $(CXX_SOURCES)

# One worker for each processor; each takes from the others what is left at the end. A worker's libraries compute on one
# thread: more would only wait for the other workers'. In CI no folder of tests may take longer than its ceiling.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal
CEILINGS := $(if $(CI),--cpu-ceilings)

# Types are checked by one process, on one processor: the native tests are built beside it.
test: $(VENV)/.dev
	@$(MAKE) --no-print-directory lint & lint=$$!; $(MAKE) --no-print-directory test-native; native=$$?; \
	wait $$lint && exit $$native
	$(PYTEST) -m "not long" $(CEILINGS)

# Every layer has a part in this, most of all those below the protocols.
FAST := $(addprefix tests/,test_*.py bigint channel codec job ledger state wire conformance/test_known_answers.py \
	protocol/psi protocol/secure_sum/masked/opening scheme/lattice run/test_file_formats.py cli/run/test_intersection_run.py)
test-fast: $(VENV)/.dev
	$(BIN)/ruff check $(PYTHON_SOURCES)
	$(PYTEST) -q -m "not long" $(filter-out tests/test_readme.py tests/test_first_steps.py,$(wildcard $(FAST)))

# The same tests with the lines they reach, which takes half as long again.
coverage: $(VENV)/.dev
	$(PYTEST) -m "not long" --cov=hekat --cov-report=term:skip-covered

# Builds native/tests in build/$(1) with the options $(2) and runs the tests that ctest's options $(3) choose, as many
# at a time as there are processors.
native_tests = $(BIN)/cmake -S native/tests -B build/$(1) -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja $(2) && \
	$(BIN)/cmake --build build/$(1) && $(BIN)/ctest --test-dir build/$(1) --parallel --output-on-failure $(3)
# Ends a recipe, saying so, where the program $(1) of the package $(2) is not there.
needs = command -v $(1) >/dev/null || { echo "SKIPPED, nothing tested: $(1) is missing (apt-get install $(2))"; exit 0; };

# C++ against known answers, without Python; what is tested is the library that the last install built.
RELEASE = -DCMAKE_BUILD_TYPE=Release -DHEKAT_LIBRARY=$(firstword $(shell ls -t $(CURDIR)/build/cp*/libhekat_native.a 2>/dev/null))
test-native: $(VENV)/.dev
	$(call native_tests,native-tests,$(RELEASE),-LE without-avx512)

test-sanitized: $(VENV)/.dev
	$(call native_tests,native-sanitized,-DCMAKE_BUILD_TYPE=Debug -DHEKAT_SANITIZE=ON,-LE without-avx512)

# Branches and addresses that depend on secrets, found by valgrind and by clang's MemorySanitizer.
test-constant-time: $(VENV)/.dev
	@$(call needs,valgrind,valgrind) \
	$(call native_tests,native-valgrind,-DCMAKE_BUILD_TYPE=Release -DHEKAT_VALGRIND=ON)
	@$(call needs,clang++,clang) \
	$(call native_tests,native-msan,-DCMAKE_BUILD_TYPE=Release -DHEKAT_MSAN=ON -DCMAKE_CXX_COMPILER=clang++)

# On emulated processors without AVX-512 none of its instructions is met, and the path that needs them is refused.
# An environment may name OpenBLAS's kernels for the machine that it is, which the emulated processor lacks.
WESTMERE := env -u OPENBLAS_CORETYPE qemu-x86_64 -cpu Westmere $(BIN)/python
test-portable-cpu: $(VENV)/.dev
	@$(call needs,qemu-x86_64,qemu-user) \
	$(call native_tests,native-tests,$(RELEASE),-L without-avx512) && \
	$(WESTMERE) -m pytest -q -p no:cacheprovider tests/conformance/test_known_answers.py --engines cpu && \
	{ HEKAT_CPU=ifma $(WESTMERE) $(BIN)/hekat doctor >build/refusal.txt; test $$? -eq 2; } && \
	grep "problem.*HEKAT_CPU names a path that cannot be taken.*avx512ifma" build/refusal.txt

# The native tests beside each other: each has a time at its end when one test alone is left. Then the long tests, beside
# those of them that mostly wait for processes, which have no processor of their own and are shown at the end. Properties
# are tried on more examples than by `make test`.
WAITS := build/tests-that-wait.txt
test-all: $(VENV)/.dev
	@$(MAKE) --no-print-directory test-sanitized & sanitized=$$!; trap 'kill $$sanitized' INT TERM; \
	$(MAKE) --no-print-directory test-constant-time test-portable-cpu; others=$$?; \
	wait $$sanitized && exit $$others
	@HEKAT_THREADS=1 $(PYTEST) --numprocesses 0 -m "long and waits" -p no:cacheprovider >$(WAITS) 2>&1 & waits=$$!; \
	trap 'kill $$waits' INT TERM; \
	$(PYTEST) -m "(long or hypothesis) and not waits" --hypothesis-profile=all; others=$$?; \
	wait $$waits; waited=$$?; cat $(WAITS); test $$waited -eq 0 && exit $$others

# 10^6 inputs through the readers of wire bytes.
fuzz: $(VENV)/.dev
	$(BIN)/python tests/fuzz/fuzz_wire.py -runs=1000000

# Everything that needs a GPU, in one command. VENV=none takes PYTHON as it is, where nothing can be installed.
test-gpu: $(if $(filter none,$(VENV)),,$(VENV)/.bench)
	PYTHON=$(if $(filter none,$(VENV)),$(PYTHON),$(BIN)/python) tests/gpu_suite.sh

bench-cuda: $(VENV)/.bench
	$(BIN)/python benchmarks/bench_cuda.py

# Quiet machines give steady figures; each file checks its results before it times them.
bench: $(VENV)/.bench
	for file in $(filter-out benchmarks/bench_cuda.py benchmarks/bench_network.py,$(wildcard benchmarks/bench_*.py)); do $(BIN)/python $$file || exit 1; done
	$(BIN)/python benchmarks/write_measured_pages.py

# The figures of the first day with own data; DATA is a folder with credit/ and a9a/, whose defaults are measured then too.
bench-first-day: $(VENV)/.bench
	$(BIN)/python benchmarks/bench_first_day.py
	$(if $(DATA),$(BIN)/python benchmarks/bench_defaults.py --data $(DATA))
	$(BIN)/python benchmarks/write_measured_pages.py

# CREDIT is a folder with UCI's credit files of two parties by columns; without it the AUC is left out.
bench-vertical: $(VENV)/.bench
	$(BIN)/python benchmarks/bench_psi.py
	$(BIN)/python benchmarks/bench_vertical.py $(if $(CREDIT),--credit $(CREDIT))
	$(BIN)/python benchmarks/write_measured_pages.py

# Boosted trees: seconds and bytes of a tree by columns and by rows; DATA is a folder with credit/ and a9a/, whose
# held-out scores are measured then too.
bench-trees: $(VENV)/.bench
	$(BIN)/python benchmarks/bench_trees.py $(if $(DATA),--data $(DATA))
	$(BIN)/python benchmarks/write_measured_pages.py

# Split networks, training on an encrypted model, an aggregation of large networks; DATA is a folder with credit/, whose
# held-out scores are measured then too.
bench-networks: $(VENV)/.bench
	$(BIN)/python benchmarks/bench_networks.py $(if $(DATA),--data $(DATA))
	$(BIN)/python benchmarks/write_measured_pages.py

# FedML-HE's figures 13 and 14 beside an attacker who knows the mask; DATA is a folder with images/.
bench-attacks: $(VENV)/.bench
	@test -n "$(DATA)" || { echo "say where the data lies: make bench-attacks DATA=FOLDER"; exit 2; }
	PYTHONPATH=benchmarks $(BIN)/python -m inversion.measure --data $(DATA)
	$(BIN)/python benchmarks/write_measured_pages.py

# Selective sums, sensitivity maps and exact noise; DATA is a folder with images/ and credit/, on which jobs are then
# trained beside central DP-SGD.
bench-privacy: $(VENV)/.bench
	PYTHONPATH=benchmarks $(BIN)/python -m privacy.bench_selective
	PYTHONPATH=benchmarks $(BIN)/python -m privacy.read_large $(if $(DATA),--data $(DATA))
	PYTHONPATH=benchmarks $(BIN)/python -m privacy.bench_sensitivity
	PYTHONPATH=benchmarks $(BIN)/python -m privacy.bench_noise
	$(if $(DATA),PYTHONPATH=benchmarks $(BIN)/python -m privacy.beside_central --data $(DATA))
	$(BIN)/python benchmarks/write_measured_pages.py

# Hours of training on the papers' data: DATA is a folder with images/, shakespeare/ and credit/.
bench-training: $(VENV)/.bench
	@test -n "$(DATA)" || { echo "say where the data lies: make bench-training DATA=FOLDER"; exit 2; }
	PYTHONPATH=benchmarks $(BIN)/python -m training.train_papers --data $(DATA)
	$(BIN)/python benchmarks/bench_fedml_he.py
	$(BIN)/python benchmarks/bench_loop_memory.py
	PYTHONPATH=benchmarks $(BIN)/python -m small_updates.measure_updates --data $(DATA)
	$(BIN)/python benchmarks/write_benchmarks_page.py

# Processes over shaped links and over the engines; PARTS="links many ..." measures some of it. DATA is a folder with
# images/ and credit/. Root measures the engines in networks of their own, whose bytes are then counted.
bench-network: $(VENV)/.bench
	@test -n "$(DATA)" || { echo "say where the data lies: make bench-network DATA=FOLDER"; exit 2; }
	$(BIN)/python benchmarks/bench_network.py $(PARTS) --data $(DATA)
	$(BIN)/python benchmarks/write_measured_pages.py

# The site: pages staged in build/docs, built with every warning an error, and looked through for foreign addresses.
docs: $(VENV)/.docs
	$(BIN)/python docs_build/stage.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python docs_build/check_site.py
	@echo "build/site/index.html"

# A builder is one whose engine answers. BUILDER=podman chooses it, BASE=NAME is another base image than Python's own,
# BUILD_FLAGS=... goes to the builder. Podman keeps checks of health in Docker's format alone.
IMAGES := $(patsubst deploy/images/%.Dockerfile,%,$(wildcard deploy/images/*.Dockerfile))
BUILDER ?= $(shell for one in docker podman; do $$one info >/dev/null 2>&1 && echo $$one && break; done)
images: $(VENV)/.dev
	$(BIN)/python -m pytest -q tests/deploy
	@test -n "$(BUILDER)" || { echo "SKIPPED, nothing built: no docker or podman answers (apt-get install podman)"; exit 0; }; \
	version=$$($(BIN)/hekat --version); for image in $(IMAGES); do \
	  $(BUILDER) build $(if $(findstring podman,$(BUILDER)),--format docker) $(if $(BASE),--build-arg BASE=$(BASE)) $(BUILD_FLAGS) \
	    --tag hekat/$$image:$${version#hekat } --file deploy/images/$$image.Dockerfile . || exit 1; \
	done

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage htmlcov .import_linter_cache
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +
