"""`hekat attack`: attacks a model's updates as a reader of them could, and shows what is readable at which mask."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "attack",
        help="show what would be readable of a model's update, at which mask",
        description="Compute updates of a PyTorch module from rows of your own, mask them, attack what is visible as "
        "somebody who knows the model and the mask would, and write scores and a page of pictures. Nothing is sent "
        "anywhere. All scores are lower bounds on leakage.",
        epilog="Examples: hekat attack net.py:build --rows images.npz --mask none --mask p=0.1,map --out tried; "
        "hekat attack digit-net --site site.toml --rows digits.csv --label digit --shape 1,8,8 --out tried",
    )
    parser.add_argument(
        "model", metavar="MODEL", help="FILE.py:FUNCTION, which returns a torch.nn.Module; with --site a model's name"
    )
    parser.add_argument("--site", type=Path, help="a site file: MODEL is a name under its common_models")
    parser.add_argument(
        "--weights",
        type=Path,
        metavar="FILE",
        help="the module's weights at the round's start, .safetensors or .pt (default: as the function makes them)",
    )
    parser.add_argument(
        "--rows",
        type=Path,
        metavar="FILE",
        required=True,
        help="rows with labels: .npz (features of any shape, labels), .csv, .tsv, .parquet, .xlsx or .libsvm",
    )
    parser.add_argument("--label", metavar="COLUMN", help="the column of class numbers of a table")
    parser.add_argument(
        "--take", type=_numbers, metavar="N,N", help="numbers of the rows to attack, from 0 (default: the first two)"
    )
    parser.add_argument(
        "--batch-rows",
        type=_count,
        default=1,
        metavar="N",
        help="rows of one update (default: 1, which tells the most)",
    )
    parser.add_argument(
        "--shape",
        type=_shape,
        metavar="C,H,W",
        help="channels, height and width of a flat row that is looked at as a picture",
    )
    parser.add_argument(
        "--tokens", action="store_true", help="cells are token numbers: read texts off the module's embeddings"
    )
    parser.add_argument(
        "--box",
        type=_box,
        metavar="LOW,HIGH",
        help="lowest and highest value of a cell (default: 0,1 for pictures, none for tables)",
    )
    parser.add_argument(
        "--mask",
        action="append",
        dest="masks",
        metavar="MASK",
        help="none, p=0.1,map, p=0.1,random, layers=GLOB[;GLOB], the file of a saved mask, or the folder or checkpoint "
        "of a run that masks a part; repeatable (default: none, p=0.1,random and p=0.1,map)",
    )
    parser.add_argument(
        "--attacker",
        choices=("adaptive", "naive"),
        default="adaptive",
        help="adaptive knows the mask; naive takes masked values for zeros, as the paper's setting (default: adaptive)",
    )
    parser.add_argument(
        "--attack",
        choices=("dlg", "inverting-gradients"),
        default="dlg",
        help="dlg: L-BFGS, for smooth nets and few rows; inverting-gradients: Adam on signs, for ReLU nets, batches "
        "and local steps (default: dlg)",
    )
    parser.add_argument("--steps", type=_count, metavar="N", help="steps of one start (default: 1200, or 4800)")
    parser.add_argument(
        "--restarts",
        type=_count,
        metavar="N",
        help="starts; the lowest objective wins, never the best score (default: 2)",
    )
    parser.add_argument(
        "--total-variation", type=_weight, metavar="W", help="weight of smooth pictures (default: 0.001, or 0.01)"
    )
    parser.add_argument(
        "--knows-labels", action="store_true", help="give the attacker the labels in place of letting it read them"
    )
    parser.add_argument(
        "--local-steps",
        type=_count,
        metavar="E",
        help="the update is the difference after E steps (with --learning-rate)",
    )
    parser.add_argument("--learning-rate", type=_positive, metavar="RATE", help="of each local step")
    parser.add_argument(
        "--threads", type=_count, default=1, metavar="N", help="of PyTorch (default: 1, the fastest for small nets)"
    )
    parser.add_argument("--seed", type=_seed, default=0, help="of first weights, guesses and random masks (default: 0)")
    parser.add_argument("--out", type=Path, metavar="FOLDER", required=True, help="the new folder for page and scores")
    parser.add_argument("--json", action="store_true", help="print the scores as JSON")
    parser.set_defaults(handle=run)


def run(options: argparse.Namespace) -> int:
    from hekat.cli.attack.attack_model import attack_model

    return attack_model(options, sys.stdout)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(_parse(int, part, "whole numbers with commas between them: 0,3,7") for part in text.split(","))


def _count(text: str) -> int:
    number = int(_parse(int, text, "a whole number from 1"))
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1; got {text[:60]!r}")
    return number


def _seed(text: str) -> int:
    number = int(_parse(int, text, "a whole number from 0"))
    if not 0 <= number < 2**32:
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 to 2^32 - 1; got {text[:60]!r}")
    return number


def _shape(text: str) -> tuple[int, ...]:
    sizes = _numbers(text)
    if len(sizes) != 3 or min(sizes) < 1:
        raise argparse.ArgumentTypeError(f"expected channels, height and width: 3,32,32; got {text[:60]!r}")
    return sizes


def _box(text: str) -> tuple[float, float]:
    parts = [_parse(float, part, "two numbers: 0,1") for part in text.split(",")]
    if len(parts) != 2 or not -1e30 < parts[0] < parts[1] < 1e30:
        raise argparse.ArgumentTypeError(f"expected the lowest, then the highest value: 0,1; got {text[:60]!r}")
    return parts[0], parts[1]


def _positive(text: str) -> float:
    number = float(_parse(float, text, "a number above 0"))
    if not 0 < number < 1e30:
        raise argparse.ArgumentTypeError(f"expected a number above 0; got {text[:60]!r}")
    return number


def _weight(text: str) -> float:
    number = float(_parse(float, text, "a number from 0"))
    if not 0 <= number < 1e30:
        raise argparse.ArgumentTypeError(f"expected a number from 0; got {text[:60]!r}")
    return number


def _parse(kind: Any, text: str, expected: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected {expected}; got {text[:60]!r}") from None
