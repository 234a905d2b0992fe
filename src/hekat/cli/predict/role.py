"""`hekat predict --role`: one role of a joint prediction at its own site, over a relay that carries its messages."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from hekat.cli.new_file import check_is_free
from hekat.cli.passphrase import read_passphrase
from hekat.cli.predict import of_encrypted_model, with_parts
from hekat.cli.predict.with_parts import facts_of_network, score_bits_of, tell_joint
from hekat.errors import InputError, JobError
from hekat.job.site_file import load_site
from hekat.launch.local import JoinRequest, join_relay
from hekat.launch.prediction_role import LoadedPrediction, TrainedRole
from hekat.launch.vertical.predict import PREDICTIONS_FOLDER, JointPredictions, PredictionWay
from hekat.report.summary import load_summary, protocol_of
from hekat.run.predictions import KEPT_FOLDER, PARTS_FOLDER, holds_parts, keeps_encrypted_parts
from hekat.run.progress import Silence
from hekat.run.role_folder import Place

_COMMAND = "hekat predict RUN --role NAME --job JOB --relay SOCKET --site FILE --source NAME"


def predict_as_role(options: argparse.Namespace) -> int:
    """Play the role that the options name; nothing is written before every role of the prediction is there."""
    for name in ("job", "relay", "site", "source"):
        if getattr(options, name) is None:
            _refuse("--role plays one role of a joint prediction over a relay", _COMMAND, f"no --{name}")
    if not holds_parts(options.model) and not keeps_encrypted_parts(options.model):
        got = f"neither {PARTS_FOLDER}/ nor {KEPT_FOLDER}/ in {options.model}"
        _refuse("--role plays with its own part of a joint model", "the folder of this role's own run", got)
    summary = load_summary(options.model)
    protocol = protocol_of(summary)
    load = _load_scoring if keeps_encrypted_parts(options.model) else _load_with_parts
    if options.out is not None:
        check_is_free(options.out, force=options.force)
    site = load_site(options.site)
    trained = TrainedRole.load(options.model, options.job, site, options.role, job_digest=summary["job_digest"])
    loaded = load(options, summary, trained)
    found = _play(options, loaded)
    head = f"{options.role} played its role to the end: {found.common:,} rows were predicted for"
    tell_joint(options, protocol, found, dict.fromkeys(found.by_receiver, options.out), head)
    return 0


def _load_scoring(options: argparse.Namespace, summary: Mapping[str, Any], trained: TrainedRole) -> LoadedPrediction:
    from hekat.launch.encrypted_model.predict_apart import load_scoring

    of_encrypted_model.refuse_unused(options, _COMMAND)
    asker, receiver = of_encrypted_model.asker_and_receiver(options, _COMMAND)
    _check_learns(options, (receiver or asker,))
    return load_scoring(trained, options.source, asker, receiver)


def _load_with_parts(options: argparse.Namespace, summary: Mapping[str, Any], trained: TrainedRole) -> LoadedPrediction:
    from hekat.launch.vertical.predict_apart import load_prediction

    protocol = protocol_of(summary)
    with_parts.refuse_unused(options, protocol, _COMMAND)
    receivers = options.receivers or tuple(summary["settings"]["receivers"])
    _check_learns(options, receivers)
    return load_prediction(_WAYS[protocol](options, summary, trained, receivers), trained, options.source)


def _regression_way(
    options: argparse.Namespace, summary: Mapping[str, Any], trained: TrainedRole, receivers: tuple[str, ...]
) -> PredictionWay[Any]:
    from hekat.launch.vertical_linear.predict import regression_way
    from hekat.run.vertical_linear.part_file import PARTS

    return regression_way(
        {trained.role: PARTS.load_own(trained.run_folder, trained.role)},
        trained.site,
        receivers,
        score_bits=score_bits_of(options, summary["settings"]),
        ask_passphrase=lambda: read_passphrase(options.passphrase_file, "the role's"),
    )


def _trees_way(
    options: argparse.Namespace, summary: Mapping[str, Any], trained: TrainedRole, receivers: tuple[str, ...]
) -> PredictionWay[Any]:
    from hekat.launch.vertical_trees.predict import trees_way
    from hekat.run.vertical_trees.part_file import TREE_PARTS

    return trees_way({trained.role: TREE_PARTS.load_own(trained.run_folder, trained.role)}, receivers)


def _network_way(
    options: argparse.Namespace, summary: Mapping[str, Any], trained: TrainedRole, receivers: tuple[str, ...]
) -> PredictionWay[Any]:
    from hekat.launch.vertical_network.predict import network_way
    from hekat.run.vertical_network.part_file import NETWORK_PARTS

    own = {trained.role: NETWORK_PARTS.load_own(trained.run_folder, trained.role)}
    return network_way(own, trained.site, receivers, **facts_of_network(summary))


_MakeWay = Callable[[argparse.Namespace, Mapping[str, Any], TrainedRole, tuple[str, ...]], PredictionWay[Any]]
_WAYS: Mapping[str, _MakeWay] = {
    "vertical_linear": _regression_way,
    "vertical_trees": _trees_way,
    "vertical_network": _network_way,
}


def _check_learns(options: argparse.Namespace, receivers: tuple[str, ...]) -> None:
    """Raise InputError where a role that learns no score is given a file for scores."""
    if options.out is not None and options.role not in receivers:
        expected = f"--out at {' and at '.join(receivers)} alone"
        _refuse(f"{options.role} learns no score to write", expected, f"--out {options.out}")


def _play(options: argparse.Namespace, loaded: LoadedPrediction) -> JointPredictions:
    """The role's answers, once every role of the prediction has joined the relay and played."""
    role, job = options.role, loaded.trained.job
    with join_relay(options.relay, JoinRequest.of(role, job.digest), timeout_s=job.timeout_s) as channel:
        if sorted(channel.parties) != sorted(loaded.roles):
            raise JobError(
                "the relay serves other roles than the prediction's",
                expected=", ".join(loaded.roles),
                got=", ".join(channel.parties),
                cure=f"start it with: hekat relay JOB SOCKET --roles {','.join(loaded.roles)}",
            )
        root = loaded.trained.run_folder / PREDICTIONS_FOLDER
        return loaded.play(Place(role, channel, channel.terms.run_id, root, loaded.keys, Silence()))


def _refuse(what: str, expected: str, got: str) -> NoReturn:
    raise InputError(what, expected=expected, got=got, cure=f"correct the command: {_COMMAND}")
