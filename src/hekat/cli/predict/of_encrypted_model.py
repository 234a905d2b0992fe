"""`hekat predict` by a model that nobody reads: the roles of its training score a host's rows together."""

from __future__ import annotations

import argparse
from typing import NoReturn

from hekat.cli.new_file import check_is_free
from hekat.cli.option_clashes import refuse_options
from hekat.cli.predict.with_parts import tell_joint
from hekat.errors import InputError
from hekat.job.encrypted_model.job_file import PROTOCOL
from hekat.job.site_file import load_site
from hekat.launch.encrypted_model.predict import score_jointly
from hekat.run.horizontal.trained_model import MODEL_FILE

_COMMAND = "hekat predict RUN --site FILE --source NAME --party HOST"
_OF_A_FILE = ("data", "id", "label", "ignore", "dates", "date_format", "separator", "decimal")


def asks_jointly(options: argparse.Namespace) -> bool:
    """Whether roles are to score together: where receivers are named, or no model lies in the folder."""
    return options.receivers is not None or not (options.model / MODEL_FILE).exists()


def predict_of_encrypted_model(options: argparse.Namespace) -> int:
    """Score the rows that the site file calls `--source` at `--party`; `--receivers`, or that host, learns scores."""
    refuse_unused(options, _COMMAND)
    asker, receiver = asker_and_receiver(options, _COMMAND)
    if options.site is None:
        _refuse("joint scores need the rows of a host", "--site FILE and --party HOST", "no --site", _COMMAND)
    if options.out is not None:
        check_is_free(options.out, force=options.force)
    predictions = score_jointly(options.model, load_site(options.site), options.source, asker, receiver)
    head = f"{predictions.common:,} rows of {asker} were scored by a model that no role read"
    tell_joint(options, PROTOCOL, predictions, dict.fromkeys(predictions.by_receiver, options.out), head)
    return 0


def refuse_unused(options: argparse.Namespace, command: str) -> None:
    """Raise InputError for an option that joint scores have no use for."""
    refuse_options(options, PROTOCOL, *_OF_A_FILE, "score_bits", "passphrase_file", command=command)


def asker_and_receiver(options: argparse.Namespace, command: str) -> tuple[str, str | None]:
    """The host whose rows are scored, and the host that learns the scores where one is named. Raises InputError."""
    receivers = options.receivers or ()
    if len(receivers) > 1:
        _refuse("scores of an encrypted model go to one host", "--receivers NAME", f"{len(receivers)} names", command)
    receiver = receivers[0] if receivers else None
    asker = options.party or receiver
    if asker is None:
        _refuse("joint scores need the rows of a host", "--site FILE and --party HOST", "no --party", command)
    return asker, receiver


def _refuse(what: str, expected: str, got: str, command: str) -> NoReturn:
    raise InputError(what, expected=expected, got=got, cure=f"correct the command: {command}")
