"""The mod of a ClientApp: the app's own code trains, its update goes to the party process, and nothing of it leaves.

A reply holds how the role stands and sealed parcels. The update, the row count, metrics and the text of an error stay
at the site. With `server_learns_model` in the job, it holds the opened mean as well.
"""

from __future__ import annotations

import logging
import os
from math import isfinite
from pathlib import Path
from typing import Any

from flwr.app import Array, ArrayRecord, Context, Message, RecordDict
from flwr.clientapp.typing import ClientAppCallable

from hekat.errors import InputError, PolicyError
from hekat.launch.flower.call import EXCHANGE, MAX_METRICS, MOST_CHARACTERS, Answer, Call, check_arrays
from hekat.launch.flower.courier import Courier, RefusedError
from hekat.launch.flower.legs import EVALUATE, TRAIN, Returned
from hekat.launch.flower.records import MEAN, Order, reply_records, take_order
from hekat.launch.flower.terms import digest_of_terms

SOCKET_VARIABLE = "HEKAT_PARTY_SOCKET"
WEIGHT = "num-examples"
"""The metric of the app that weighs its update, at every site."""
_log = logging.getLogger("hekat.flower")


def protected(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
    """A mod for `ClientApp(mods=[protected])`: updates are summed encrypted, and clients train on the opened mean.

    Raises PolicyError for a message of another strategy, and where others could listen at the party process's socket;
    ChannelError where no party process answers: the app's own code has not run then.
    """
    order, parcels = take_order(message.content)
    _check_weight(order)
    courier = Courier(
        _socket_of(context),
        Call(EXCHANGE, order.run_id, order.job, evaluates=order.evaluates, lost=order.lost, parcels=parcels),
    )
    arrays = _arrays_of(message.content)
    answer = courier.exchange(arrays)
    _check_seat(context, answer)
    leg = _Leg(message, context, call_next, courier, order)
    did = leg.work(answer)
    last = leg.last or answer
    returned = Returned(
        last.wanted,
        last.opened,
        last.is_over,
        last.has_start,
        last.kind,
        did,
        parcels=[*answer.parcels, *(leg.last.parcels if leg.last is not None else ())],
    )
    content = RecordDict(reply_records(returned, answer.party))
    if answer.server_learns_model and answer.opened > order.learned and answer.model is not None:
        # Integers are this site's own, such as counts of batches, and no mean.
        content[MEAN] = _to_record({name: values for name, values in answer.model.items() if values.dtype.kind == "f"})
    return Message(content=content, reply_to=message)


class _Leg:
    """The app's own work within one message. `last` is what the party process answered after it."""

    def __init__(
        self, message: Message, context: Context, call_next: ClientAppCallable, courier: Courier, order: Order
    ) -> None:
        self._message, self._context, self._call_next = message, context, call_next
        self._courier, self._order = courier, order
        self.last: Answer | None = None

    def work(self, answer: Answer) -> str:
        """Train or evaluate, if the loop is at that point; what was done, "" for nothing."""
        order = self._order
        trains = order.work == TRAIN and 0 < answer.wanted == order.round
        evaluates = order.work == EVALUATE and 0 < answer.opened == order.round
        if not (trains or evaluates) or answer.model is None:
            return ""
        terms = digest_of_terms(self._message, self._context)
        # The site's own model, whatever the server sent: sites that train on different ones let one update stand out.
        model = answer.model
        try:
            reply = self._run_app(model)
            metrics = _metrics_of(reply)
            update, weight = _update_of(reply, order.weighted_by) if trains else (None, 0)
            self._courier.note(order.work, order.round, metrics)
        except Exception as error:
            # Flower would send the error's text to the server: it may hold a value of a row.
            _log.exception("this site cannot go on; of this the server learns only that it cannot")
            self.last = self._courier.give_up(error.kind if isinstance(error, RefusedError) else type(error).__name__)
            return ""
        if update is not None:
            self.last = self._courier.update(order.round, update, weight, terms)
        return order.work

    def _run_app(self, model: Any) -> RecordDict:
        content = self._message.content
        names = list(content.array_records)
        content[names[0] if names else "arrays"] = _to_record(model)
        reply = self._call_next(self._message, self._context)
        if not reply.has_content():
            raise InputError("the app replied with an error", expected="arrays and metrics", got="an error")
        return reply.content


def _arrays_of(content: RecordDict) -> dict[str, Any] | None:
    """The arrays that came with a message; None where it has none."""
    records = list(content.array_records.values())
    if len(records) > 1:
        raise InputError("a message with several records of arrays", expected="one", got=f"{len(records)}")
    return {name: array.numpy() for name, array in records[0].items()} if records and len(records[0]) else None


def _update_of(content: RecordDict, weighted_by: str) -> tuple[dict[str, Any], int]:
    """The app's arrays and its weight. Raises InputError where a reply has other than one record of each."""
    records = list(content.array_records.values())
    weights = [record[weighted_by] for record in content.metric_records.values() if weighted_by in record]
    if len(records) != 1 or len(weights) != 1:
        raise InputError(
            "the app's reply cannot be summed",
            expected=f"one ArrayRecord, and one MetricRecord with {weighted_by!r}",
            got=f"{len(records)} and {len(weights)}",
            cure="return them as for FedAvg",
        )
    weight = weights[0]
    if isinstance(weight, list) or weight != int(weight):
        raise InputError("the app's weight is no whole number", expected="the count of its rows", got="another value")
    update = {name: array.numpy() for name, array in records[0].items()}
    check_arrays(update)
    return update, int(weight)


def _metrics_of(content: RecordDict) -> dict[str, float]:
    """Single numbers of the app's metrics, for this site's own file: the first by name, as many as a call takes."""
    found = {name: value for record in content.metric_records.values() for name, value in record.items()}
    # What would not be taken is left out here: the update behind it would not be taken either.
    noted = {name: float(value) for name, value in found.items() if isinstance(value, (int, float)) and isfinite(value)}
    kept = sorted(name for name in noted if len(name) <= MOST_CHARACTERS)[:MAX_METRICS]
    if len(kept) < len(noted):
        text = "%d of the app's metrics are not noted: the first %d by name are, with names up to %d characters"
        _log.warning(text, len(noted) - len(kept), MAX_METRICS, MOST_CHARACTERS)
    return {name: noted[name] for name in kept}


def _to_record(arrays: Any) -> ArrayRecord:
    return ArrayRecord({name: Array(values) for name, values in arrays.items()})


def _socket_of(context: Context) -> Path:
    named = context.node_config.get("hekat-socket") or os.environ.get(SOCKET_VARIABLE)
    if not named:
        raise PolicyError(
            "this site does not say where its party process listens",
            expected=f"hekat-socket in the SuperNode's --node-config, or {SOCKET_VARIABLE}",
            got="neither",
            cure='start the SuperNode with --node-config \'party="NAME" hekat-socket="/run/hekat/NAME.sock"\'',
        )
    return Path(str(named))


def _check_weight(order: Order) -> None:
    """A server that had each site weigh by another metric could make one update stand out in the mean."""
    if order.weighted_by != WEIGHT:
        raise PolicyError(
            "the server names another metric to weigh updates by",
            expected=repr(WEIGHT),
            got="another name",
            cure=f"leave weighted_by_key out of the strategy, and have the app report {WEIGHT!r}",
        )


def _check_seat(context: Context, answer: Answer) -> None:
    seat = context.node_config.get("party")
    if seat is not None and seat != answer.party:
        raise PolicyError(
            "the SuperNode's seat is another party's than the process at its socket plays",
            expected=f"party = {answer.party!r}",
            got="another name",
            cure="correct the SuperNode's --node-config",
        )
