"""FLASH's nine applications, HAFLO's and FLBooster's models: their figures, the example of each, what was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pages.markdown import table_line

Results = Mapping[str, dict[str, Any] | None]
NAMES = ("psi", "vertical", "trees", "networks", "training-mlp", "training-lstm")
_EXAMPLES = "../../examples"
_FIG_10 = "Fig. 10: 4.1 to 5.4 times its CPU"
_NOT_YET = "not measured yet"


@dataclass(frozen=True)
class Application:
    """One row: a model by its name in a paper, two cells of what papers say, our file and command, what we measured.

    `measured` gives the figure from all results and the page that has it, or None where nothing was measured.
    """

    name: str
    first: str
    second: str
    file: str
    command: str
    page: str
    measured: Callable[[Results], str | None]


def render_flash(results: Results, places: Mapping[str, str]) -> list[str]:
    """The page's lines; `places` has, by the results' names, processor, cores and date."""
    lines = [
        "FLASH (NSDI 2023) measures nine applications (its Table 3). Each runs here by one command, and was measured "
        "beside the same without encryption. FLASH's seconds (its Table 1) are FATE with GMP on ten cores of an Intel "
        "Xeon Silver 4114, rows of a bank, about 100,000 of 80 columns, without and with encryption; of its five "
        "networks it gives no seconds in words, only by how much an FPGA shortens training (Fig. 10: 4.1 to 5.4 times "
        "beside that CPU, 1.2 to 1.6 beside an NVIDIA P4). Machines, rows and protocols differ: the ratio of "
        "encrypted to plain is what compares.",
        "",
        table_line("application", "its data", "FLASH", "example", "measured here", "page"),
        "|---|---|---|---|---|---|",
    ]
    lines += [_application_line(results, one, one.first, one.second) for one in APPLICATIONS]
    lines += [
        "",
        "## HAFLO's and FLBooster's models",
        "",
        "HAFLO (section 4.2) says how much a Tesla V100 shortens an epoch of FATE on two Xeon Silver 4114. FLBooster "
        "(Table III; four servers, each with two Xeon E5-2650 v4 and a GeForce RTX 3090) has seconds of an epoch at "
        "100,000 x 10,000 with keys of 2048 bits: FATE's, then its own.",
        "",
        table_line("model", "HAFLO", "FLBooster", "example", "measured here", "page"),
        "|---|---|---|---|---|---|",
        *(_application_line(results, one, one.first, one.second) for one in MODELS),
    ]
    return [*lines, "", f"Taken on: {'; '.join(f'{name}, {place}' for name, place in places.items())}."]


def _application_line(results: Results, one: Application, *papers: str) -> str:
    figure = one.measured(results)
    page = f"[{one.page.removesuffix('.md')}]({one.page})" if figure else ""
    return table_line(one.name, *papers, f"[`{one.command}`]({_EXAMPLES}/{one.file})", figure or _NOT_YET, page)


def _row(results: Results, name: str, **wanted: Any) -> dict[str, Any] | None:
    content = results.get(name)
    rows = [] if content is None else content["rows"]
    return next((row for row in rows if all(row.get(key) == value for key, value in wanted.items())), None)


def _intersection(results: Results) -> str | None:
    row = _row(results, "psi", cores=1)
    return row and f"{row['processor_s']:.1f} s, {row['work']}, one core; {row['other']}: {row['other_s']:.1f} s"


def _regression(results: Results) -> str | None:
    row = _row(results, "vertical", form="arbiter", protection="lattice", rules_waived=False)
    return row and f"{row['seconds']:.2f} s an epoch of 30,000 x 23, {row['times_clear']:.1f} times the clear run"


def _trees(results: Results) -> str | None:
    row = _row(results, "trees", part="papers", protection="lattice")
    return row and f"{row['tree_s']:.2f} s a tree of {row['what']}, {row['times_clear']:.1f} times the clear run"


def _encrypted_model(results: Results) -> str | None:
    row = _row(results, "networks", part="encrypted_model", protection="lattice")
    return row and f"{row['seconds']:.3f} s an epoch of {row['shape']}, {row['times_clear']:.1f} times the clear run"


def _split_network(results: Results) -> str | None:
    row = _row(results, "networks", part="split_network", host_bottom="frozen")
    if row is None:
        return None
    shape = row["what"].split(", ", 1)[1]
    return f"{row['seconds']:.2f} s an epoch of {shape}, {row['times_clear']:.1f} times the clear run"


def _training(name: str) -> Callable[[Results], str | None]:
    def measured(results: Results) -> str | None:
        row = _row(results, name, algorithm="fedavg", protection="lattice", value_bits=16)
        return row and (
            f"{row['times_plain_by_exchange']:.2f} times the plain training, {row['values']:,} values, "
            f"{row['parties']} parties"
        )

    return measured


def _aggregation(model: str) -> Callable[[Results], str | None]:
    def measured(results: Results) -> str | None:
        row = _row(results, "networks", part="aggregation", model=model)
        return row and (
            f"{row['seconds']:.2f} s an aggregation of {row['parties']} parties, {row['times_clear']:.2f} times the "
            f"clear one; {row['up_bytes'] / row['float32_bytes']:.2f} times float32's bytes"
        )

    return measured


def _flash_network(
    name: str, data: str, file: str, page: str, measured: Callable[[Results], str | None]
) -> Application:
    return Application(name, data, _FIG_10, f"flash/{file}", f".venv/bin/python examples/flash/{file}", page, measured)


APPLICATIONS = (
    Application(
        "set intersection",
        "CreditCard",
        "7.91 s, 20.62 s: 2.60 times",
        "intersection/job.toml",
        ".venv/bin/hekat run examples/intersection/job.toml",
        "set_intersection.md",
        _intersection,
    ),
    Application(
        "vertical logistic regression",
        "CreditCard",
        "an epoch, 12.05 times",
        "vertical_credit.py",
        ".venv/bin/python examples/vertical_credit.py",
        "vertical.md",
        _regression,
    ),
    Application(
        "boosted trees by columns (SecureBoost)",
        "CreditCard",
        "an epoch, 3.49 times",
        "vertical_trees.py",
        ".venv/bin/python examples/vertical_trees.py",
        "trees.md",
        _trees,
    ),
    Application(
        "logistic regression on an encrypted model (HLR)",
        "CreditCard",
        "an epoch, 60.74 times",
        "encrypted_model/job.toml",
        ".venv/bin/hekat run examples/encrypted_model/job.toml",
        "networks.md",
        _encrypted_model,
    ),
    _flash_network("MLP", "FMNIST", "mlp.py", "training.md", _training("training-mlp")),
    _flash_network("LSTM", "Shakespeare", "lstm.py", "training.md", _training("training-lstm")),
    _flash_network("DenseNet169", "CIFAR-10", "densenet169.py", "networks.md", _aggregation("DenseNet169")),
    _flash_network("ResNet50", "CIFAR-10", "resnet50.py", "networks.md", _aggregation("ResNet50")),
    _flash_network("VGG16", "CIFAR-10", "vgg16.py", "networks.md", _aggregation("VGG16")),
)
_BY_NAME = {one.file: one for one in APPLICATIONS}
# By HAFLO's and FLBooster's figures in place of the data and FLASH's.
MODELS = (
    replace(
        _BY_NAME["encrypted_model/job.toml"],
        name="homogeneous logistic regression",
        first="88.4 times faster",
        second="4,747 s; 11.1 s",
    ),
    replace(
        _BY_NAME["vertical_credit.py"],
        name="heterogeneous logistic regression",
        first="49.9 times faster",
        second="2,738 s; 9.7 s",
    ),
    replace(_BY_NAME["vertical_trees.py"], name="heterogeneous SecureBoost", first="", second="19,142 s; 199.3 s"),
    Application(
        "heterogeneous neural network",
        "",
        "14,115 s; 71.8 s",
        "vertical_network.py",
        ".venv/bin/python examples/vertical_network.py",
        "networks.md",
        _split_network,
    ),
)
