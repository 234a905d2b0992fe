"""FLASH's nine applications: its figures, the example that runs each, and what was measured of it beside plain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Results = Mapping[str, dict[str, Any] | None]
NAMES = ("psi", "vertical", "trees", "networks", "training-mlp", "training-lstm")
_EXAMPLES = "../../examples"
_FIG_10 = "Fig. 10: 4.1 to 5.4 times its CPU"
_NOT_YET = "not measured yet"


@dataclass(frozen=True)
class Application:
    """One row: its name in FLASH's Table 3 with the data there, FLASH's figure, our file and command, what we measured.

    `measured` gives the figure from all results and the page that has it, or None where nothing was measured.
    """

    name: str
    data: str
    flash: str
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
        _line("application", "its data", "FLASH", "example", "measured here", "page"),
        "|---|---|---|---|---|---|",
    ]
    for one in APPLICATIONS:
        example = f"[`{one.command}`]({_EXAMPLES}/{one.file})"
        figure = one.measured(results)
        page = f"[{one.page.removesuffix('.md')}]({one.page})" if figure else ""
        lines.append(_line(one.name, one.data, one.flash, example, figure or _NOT_YET, page))
    return [*lines, "", f"Taken on: {'; '.join(f'{name}, {place}' for name, place in places.items())}."]


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


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
