"""FedML-HE's figures 13 and 14 and our table beside them: what attacks read of updates at each mask.

Each line is an attack on one picture at one mask, the lowest objective of its restarts kept. The adaptive attacker
knows the mask; the naive one is the paper's setting as we read it. Without --data the pictures are crops of
scikit-learn's photographs, and figures are not the page's. --quick takes a tenth of the steps: a look at the script.
"""

from __future__ import annotations

import argparse
import sys
from importlib import metadata
from pathlib import Path

import torch

from inversion.pictures import attack_pictures, describe_map
from inversion.readings import read_all_labels, read_all_texts
from inversion.subjects import load_pictures, make_model, map_of, masks_of
from measuring.clock import Clock
from measuring.record import print_rows, write_results

STEPS, RESTARTS = 1600, 2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder with images/ of CIFAR-10")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--restarts", type=int, default=RESTARTS)
    parser.add_argument("--only", help="the masks whose names hold this")
    parser.add_argument("--quick", action="store_true", help="a tenth of the steps, one start")
    parser.add_argument("--no-write", action="store_true", help="print only")
    options = parser.parse_args()
    steps, restarts = (options.steps // 10, 1) if options.quick else (options.steps, options.restarts)
    torch.set_num_threads(1)
    say = Clock()
    pictures, model = load_pictures(options.data), make_model()
    found = map_of(model, pictures)
    masks = masks_of(model, found)
    rows = describe_map(model, found, masks["0.1 by map"])
    rows += read_all_labels(model, pictures)
    say("labels are read")
    rows += read_all_texts()
    say("texts are read")
    wanted = {name: mask for name, mask in masks.items() if (options.only or "") in name}
    rows += attack_pictures(model, pictures, wanted, step_count=steps, restart_count=restarts, say=say)
    for part in ("map", "labels", "texts", "picture"):
        kept = [{k: v for k, v in row.items() if k not in ("floor", "ceiling")} for row in rows if row["part"] == part]
        columns = list(dict.fromkeys(key for row in kept for key in row))
        print_rows(kept, columns)
    if not options.no_write:
        versions = {name: metadata.version(name) for name in ("torch", "scikit-image", "sewar")}
        about = {"pictures": pictures.source, "steps": steps, "restarts": restarts, "versions": versions}
        print(write_results("attacks", rows, **about))
    return 0


if __name__ == "__main__":
    sys.exit(main())
