"""`hekat run --live`, `--traces`, `--mlflow`: what watches a run besides the terminal, for as long as the run lasts."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rich.console import Console

from hekat.cli.run.displays import Displays
from hekat.cli.run.progress import RunProgress
from hekat.errors import InputError
from hekat.job.load_any_job import AnyJob
from hekat.live.figures import FiguresFile
from hekat.live.first_state import first_state
from hekat.live.served_page import check_can_serve, served_page
from hekat.live.state import LiveState, Played
from hekat.live.watch import RunWatch, Sink
from hekat.live.web.token import load_token, make_token
from hekat.printable import printable
from hekat.run.progress import Progress

_OPTIONS = ("live", "live_token", "traces", "mlflow", "figures")


def add_live_options(parser: argparse.ArgumentParser) -> None:
    """The options of what watches a run."""
    parser.add_argument(
        "--live",
        nargs="?",
        type=int,
        const=0,
        metavar="PORT",
        help="show the run while it goes on as a page at 127.0.0.1, at PORT or any free one; prints its address",
    )
    parser.add_argument(
        "--live-token",
        type=Path,
        metavar="FILE",
        help="with --live: a file (mode 600) that holds the page's token, instead of a new one printed on the terminal",
    )
    parser.add_argument(
        "--traces",
        action="store_true",
        help="send OpenTelemetry spans of rounds and steps to where OTEL_EXPORTER_OTLP_ENDPOINT says",
    )
    parser.add_argument(
        "--mlflow", metavar="URI", help="log with MLflow what all parties learn: losses and metrics of opened sums"
    )
    parser.add_argument(
        "--figures",
        type=Path,
        metavar="FILE",
        help="with --role: keep the role's seconds, bytes, processor time and memory in FILE (mode 600) as it plays",
    )


def refuse_useless_options(options: argparse.Namespace) -> None:
    """Raise InputError for such options where there is nothing to watch, or where one lacks its companion."""
    given = [f"--{name.replace('_', '-')}" for name in _OPTIONS if not is_left_out(getattr(options, name))]
    if options.dry_run and given:
        raise InputError(
            "--dry-run begins nothing, so there is nothing to watch",
            expected="--dry-run, or a run",
            got=" ".join(["--dry-run", *given]),
            cure="leave one of them out",
        )
    for option, companion in (("live_token", "live"), ("figures", "role")):
        if getattr(options, option) is not None and getattr(options, companion) is None:
            name = f"--{option.replace('_', '-')}"
            raise InputError(
                f"{name} without --{companion}",
                expected="both",
                got=f"no --{companion}",
                cure=f"add --{companion}, or leave {name} out",
            )


def is_left_out(value: object) -> bool:
    """Whether an option was not given; port 0 is given."""
    return value is None or value is False


@contextmanager
def displayed(
    options: argparse.Namespace,
    console: Console,
    job: AnyJob,
    *,
    played: Played,
    own_roles: tuple[str, ...] | None = None,
    value_count: int | None = None,
    tests_trained_on: bool = False,
    figures: Mapping[str, Path] | None = None,
) -> Iterator[Displays]:
    """The terminal and whatever else the options ask for, told of the run in the block as one display.

    `own_roles` are those that this command plays, None for all; `value_count` the numbers of one update, where one is
    sent; `tests_trained_on` says that all test rows are training rows; `figures` are the files in which roles in
    processes of their own write theirs, by role.
    Raises before the block, and so before the run: HekatError where an extra is missing, InputError where the page, its
    token or a server that the options name cannot be used.
    """
    state = first_state(job, played, own_roles, value_count, tests_trained_on=tests_trained_on)
    with ExitStack() as stack:
        watches: list[RunWatch] = []
        # Told once everything below has ended.
        stack.callback(_tell_failures, console, watches)
        sinks = _begin_sinks(options, console, state, stack)
        displays: list[Progress] = [stack.enter_context(RunProgress(console, verbose=options.verbose))]
        # A role that another process shows reads none of its own files again.
        if sinks or options.figures is not None:
            own = [] if options.figures is None else [FiguresFile(options.figures, state.run.own_roles[0])]
            watches.append(RunWatch(state, [*sinks, *own], figures or {}, follows_files=bool(sinks)))
            displays.append(stack.enter_context(watches[0]))
        yield Displays(displays)


def _begin_sinks(options: argparse.Namespace, console: Console, state: LiveState, stack: ExitStack) -> list[Sink]:
    sinks: list[Sink] = []
    if options.mlflow is not None:
        from hekat.live.export.mlflow_log import MlflowLog

        log = MlflowLog(options.mlflow, state)
        stack.callback(lambda: _warn(console, "not all was logged with MLflow", log.failure))
        sinks.append(stack.enter_context(log))
    if options.traces:
        from hekat.live.export.traces import TraceSink, Tracing

        sinks.append(TraceSink(stack.enter_context(Tracing()).tracer))
    if options.live is not None:
        sinks.append(_serve(options, console, state, stack))
    return sinks


def _serve(options: argparse.Namespace, console: Console, state: LiveState, stack: ExitStack) -> Sink:
    """Serve the page for as long as the stack's block lasts, and say where."""
    check_can_serve()
    if options.live_token is None and not console.is_terminal:
        raise InputError(
            "the live page's token would be printed into a file or a pipe",
            expected="a terminal, or --live-token FILE",
            got="no terminal",
            cure="put a token into a file of mode 600 and name it with --live-token",
        )
    token = make_token() if options.live_token is None else load_token(options.live_token)
    page = stack.enter_context(served_page(state, options.live, token))
    shown = (
        f"{page.address}#{token}"
        if options.live_token is None
        else f"{page.address} with the token in {options.live_token}"
    )
    console.print(f"live page   {printable(shown)}", highlight=False, markup=False, soft_wrap=True)
    return page.sink


def _tell_failures(console: Console, watches: Sequence[RunWatch]) -> None:
    for watch in watches:
        if watch.failure is not None:
            _warn(console, "the run was not watched to its end", type(watch.failure).__name__)


def _warn(console: Console, what: str, why: str) -> None:
    if why:
        console.print(f"[yellow]{what}:[/] {printable(why)}", highlight=False)
