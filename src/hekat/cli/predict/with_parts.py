"""`hekat predict` with the parts of a model on columns: all parties of this machine, and a file for each receiver."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hekat.cli.new_file import check_is_free, write_new
from hekat.cli.option_clashes import refuse_options
from hekat.cli.passphrase import read_passphrase
from hekat.command_name import as_called
from hekat.errors import InputError
from hekat.job.site_file import load_site
from hekat.launch.vertical.predict import JointPredictions
from hekat.printable import printable
from hekat.protocol.vertical_linear.prediction.settings import SCORE_BITS
from hekat.report.summary import load_summary, protocol_of

_UNUSED_WITH_PARTS = ("data", "party", "id", "label", "ignore", "separator", "decimal")
"""Options that no prediction with parts of a vertical model has a use for, as argparse stores them."""


def predict_with_parts(options: argparse.Namespace) -> int:
    """Predict for the rows that the site file calls `--source` at every party.

    Only receivers learn scores: those that the trained job named, unless `--receivers` names others.
    """
    summary = load_summary(options.model)
    protocol = protocol_of(summary)
    refuse_unused(options, protocol, "hekat predict RUN --site FILE --source NAME")
    if options.site is None:
        raise InputError(
            "a joint prediction needs every party's rows",
            expected="--site FILE, which says where each party keeps what --source names",
            got="no site file",
            cure="add --site",
        )
    settings = summary["settings"]
    receivers = options.receivers or tuple(settings["receivers"])
    out = _files_of(options.out, receivers)
    for path in out.values():
        check_is_free(path, force=options.force)
    predictions = _PREDICT[protocol](options, settings, receivers)
    places = {party: out.get(party) or out.get("") for party in predictions.by_receiver}
    sizes = ", ".join(f"{party} {count}" for party, count in predictions.sizes.items())
    head = f"{predictions.common:,} rows are common to all and were predicted for (rows: {sizes})"
    tell_joint(options, protocol, predictions, places, head)
    return 0


def _predict_regression(
    options: argparse.Namespace, settings: Mapping[str, Any], receivers: tuple[str, ...]
) -> JointPredictions:
    from hekat.launch.vertical_linear.predict import predict_jointly

    return predict_jointly(
        options.model,
        load_site(options.site),
        options.source,
        receivers,
        score_bits=score_bits_of(options, settings),
        ask_passphrase=lambda: read_passphrase(options.passphrase_file, "a party's"),
    )


def score_bits_of(options: argparse.Namespace, settings: Mapping[str, Any]) -> int:
    """How finely receivers learn scores: as the command says, otherwise as the trained job did."""
    said: int = settings.get("score_bits", SCORE_BITS) if options.score_bits is None else options.score_bits
    return said


def _predict_trees(
    options: argparse.Namespace, settings: Mapping[str, Any], receivers: tuple[str, ...]
) -> JointPredictions:
    from hekat.launch.vertical_trees.predict import predict_trees_jointly

    del settings
    return predict_trees_jointly(options.model, load_site(options.site), options.source, receivers)


def _predict_network(
    options: argparse.Namespace, settings: Mapping[str, Any], receivers: tuple[str, ...]
) -> JointPredictions:
    from hekat.launch.vertical_network.predict import predict_network_jointly

    del settings
    return predict_network_jointly(
        options.model,
        load_site(options.site),
        options.source,
        receivers,
        **facts_of_network(load_summary(options.model)),
    )


def facts_of_network(summary: Mapping[str, Any]) -> dict[str, Any]:
    """What `predict_network_jointly` is given of the trained job."""
    settings = summary["settings"]
    return {
        "bottoms": dict(line.split(": ", 1) for line in settings.get("bottoms", ()) if ": " in line),
        "bottom_code": summary["bottom_code"],
        "top": settings.get("top"),
        "top_code": summary.get("top_code", ""),
    }


_PREDICT = {
    "vertical_linear": _predict_regression,
    "vertical_trees": _predict_trees,
    "vertical_network": _predict_network,
}


def _files_of(out: Path | None, receivers: tuple[str, ...]) -> dict[str, Path]:
    """A file for each receiver; for the only one, of whatever name (""), the file that was named."""
    if out is None:
        return {}
    if len(receivers) < 2:
        return {"": out}
    return {party: out.with_name(f"{out.stem}-{party}{out.suffix}") for party in receivers}


def refuse_unused(options: argparse.Namespace, protocol: str, command: str) -> None:
    """Raise InputError for an option that joint predictions of a protocol have no use for."""
    of_regressions = () if protocol == "vertical_linear" else ("score_bits", "passphrase_file")
    refuse_options(options, protocol, *_UNUSED_WITH_PARTS, *of_regressions, command=command)


def tell_joint(
    options: argparse.Namespace,
    protocol: str,
    predictions: JointPredictions,
    places: Mapping[str, Path | None],
    head: str,
) -> None:
    """Write each receiver's answers to its place, and tell what it learned, in JSON or after the line `head`.

    Raises StateError where something lies at a place already, unless the options force.
    """
    written = {}
    for party, found in predictions.by_receiver.items():
        place = places.get(party)
        if place is not None:
            write_new(place, found.to_csv(), force=options.force)
            written[party] = place
    told: dict[str, Any] = {
        "protocol": protocol,
        "rows": predictions.sizes,
        "common": predictions.common,
        "folder": str(predictions.folder),
        "receivers": {
            party: {
                "predicted": found.count_classes(),
                "metrics": found.metrics,
                "ignored_columns": list(found.ignored),
                "notes": list(found.notes),
                "out": str(written[party]) if party in written else None,
            }
            for party, found in predictions.by_receiver.items()
        },
    }
    if options.json:
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
        return
    lines = [head]
    for party, found in told["receivers"].items():
        counts = ", ".join(f"{name} {count}" for name, count in found["predicted"].items())
        lines.append(f"{party} learned the score of each" + (f": {counts}" if counts else ""))
        lines += [f"  {name} {value:.6g}" for name, value in found["metrics"].items()]
        lines += [f"  {note}" for note in found["notes"]]
        if found["ignored_columns"]:
            lines.append(f"  columns that the model does not know, ignored: {', '.join(found['ignored_columns'])}")
        lines.append(f"  written to {found['out']}, mode 600" if found["out"] else "  not written: say --out FILE.csv")
    lines.append(as_called(f"audit       hekat audit {predictions.folder}"))
    sys.stdout.writelines(f"{printable(line)}\n" for line in lines)
