"""`hekat predict`: applies a trained model to new rows; only their owner may read the predictions."""

from __future__ import annotations

import argparse
from pathlib import Path

from hekat.cli.names_option import names_option
from hekat.cli.predict.separators import SEPARATORS
from hekat.errors import InputError
from hekat.run.predictions import holds_parts, keeps_encrypted_parts


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "predict",
        help="apply a trained model to new rows",
        description="Read rows, encode and standardise them as in training, and predict. Columns are found by name. "
        "Predictions are written with --out alone, into a new file of mode 600; with labels the metrics are shown. "
        "With the folder of a vertical run all parties of the site file predict together for what each calls --source. "
        "With the folder of a training on an encrypted model, and no model.npz in it or --receivers, the roles score a "
        "host's rows together, and nobody reads the model.",
        epilog="Examples: hekat predict runs/ID --data new.csv --id patient_id --out predictions.csv; "
        "hekat predict runs/ID --site site.toml --source new-patients --out scores.csv; "
        "hekat predict runs/ID --site site.toml --source new-patients --receivers north --out scores.csv",
    )
    parser.add_argument("model", type=Path, help="a run's folder, or a model.npz")
    rows = parser.add_mutually_exclusive_group(required=True)
    rows.add_argument(
        "--data", type=Path, metavar="FILE", help="rows in a .csv, .tsv, .parquet, .xlsx, .npz or .libsvm file"
    )
    rows.add_argument("--source", metavar="NAME", help="rows under a name of the site file (with --site)")
    parser.add_argument("--site", type=Path, help="a site file: named data, code of models")
    parser.add_argument(
        "--party",
        metavar="NAME",
        help="the party whose data and code to take from the site file (default: the common ones); of joint "
        "scores by an encrypted model the host whose rows these are (default: the receiver)",
    )
    parser.add_argument("--id", metavar="COLUMN", help="with --data: the column that names the rows in the output")
    parser.add_argument(
        "--label",
        metavar="COLUMN",
        help="with --data: the column with the true values, to show metrics; it is no feature",
    )
    parser.add_argument(
        "--ignore",
        metavar="COLUMN",
        action="append",
        default=[],
        help="with --data, a column or a pattern with *; repeatable",
    )
    parser.add_argument(
        "--dates",
        metavar="COLUMN",
        action="append",
        default=[],
        help="with --data, a column of dates, which become days as dates in the site file do; repeatable",
    )
    parser.add_argument(
        "--date-format",
        metavar="FORMAT",
        help="with --dates: how they are written, such as %%d.%%m.%%Y (default: 2024-02-29, also with a time)",
    )
    parser.add_argument(
        "--separator",
        choices=[*sorted(SEPARATORS), *SEPARATORS.values()],
        metavar="SEPARATOR",
        help="of a .csv file: comma, semicolon, tab, bar, or the character itself (default: as the file shows)",
    )
    parser.add_argument("--decimal", choices=(".", ","), help="of a .csv file (default: as the file shows)")
    parser.add_argument("--out", "--output", type=Path, metavar="FILE.csv", help="the new file for the predictions")
    parser.add_argument(
        "--receivers",
        type=names_option,
        metavar="A,B",
        help="of a vertical model: who learns scores (default: as its job says); each of several gets FILE-NAME.csv. "
        "Of an encrypted model: the host that learns them (default: --party)",
    )
    parser.add_argument(
        "--score-bits",
        type=int,
        metavar="N",
        help="of a vertical model: receivers learn scores to 2^-N (default: as its job says, otherwise 12)",
    )
    parser.add_argument(
        "--passphrase-file", type=Path, help="of a vertical model in shares: opens the Paillier key that a site keeps"
    )
    parser.add_argument(
        "--role",
        metavar="NAME",
        help="of a joint model: play this one role at its own site (with --job and --relay); every other role's site "
        "runs the same command with its own",
    )
    parser.add_argument("--job", type=Path, metavar="FILE", help="with --role: the job that trained the model")
    parser.add_argument(
        "--relay", type=Path, metavar="SOCKET", help="with --role: the socket of the relay that all roles join"
    )
    parser.add_argument("--force", action="store_true", help="let --out replace a file")
    parser.add_argument("--json", action="store_true", help="print JSON: counts and metrics, no rows")
    parser.set_defaults(handle=run)


def run(options: argparse.Namespace) -> int:
    # Imported here, the one that is asked for: the others would take a quarter of all imports.
    if options.role is not None:
        from hekat.cli.predict.role import predict_as_role

        return predict_as_role(options)
    for name in ("job", "relay"):
        if getattr(options, name) is not None:
            raise InputError(
                f"--{name} belongs to one role at its own site",
                expected="--role NAME, --job FILE and --relay SOCKET together",
                got=f"--{name} without --role",
                cure=f"add --role, or leave out --{name}",
            )
    if holds_parts(options.model):
        from hekat.cli.predict.with_parts import predict_with_parts

        return predict_with_parts(options)
    if keeps_encrypted_parts(options.model):
        from hekat.cli.predict.of_encrypted_model import asks_jointly, predict_of_encrypted_model

        if asks_jointly(options):
            return predict_of_encrypted_model(options)
    from hekat.cli.predict.horizontal import predict_horizontal

    return predict_horizontal(options)
