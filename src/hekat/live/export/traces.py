"""Sends the spans of a run by OpenTelemetry, to where its standard variables (OTEL_...) say."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

from hekat.errors import HekatError, InputError
from hekat.live.export.spans import Span, SpanBuilder, nanoseconds
from hekat.live.facts import EventWritten, Fact
from hekat.live.state import LiveState

SERVICE = "hekat"
EXPORTER_VARIABLE = "OTEL_TRACES_EXPORTER"
_EXPORTERS = ("otlp", "console", "none")
_FLUSH_WITHIN_S = 10.0


class TraceSink:
    """Turns facts into spans. `tracer` is OpenTelemetry's; spans carry public names and counts, never a value."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer
        self._builder = SpanBuilder()
        self._run: Any = None

    def take(self, state: LiveState, facts: Sequence[Fact]) -> None:
        if self._run is None and any(
            isinstance(one, EventWritten) and one.event["event"] == "started" for one in facts
        ):
            attributes = {
                "hekat.run_id": state.run.run_id,
                "hekat.protocol": state.run.protocol,
                "hekat.protection": state.run.protection,
                "hekat.release": state.run.release,
            }
            begun = nanoseconds(state.run.started_at)
            self._run = self._tracer.start_span("hekat.run", start_time=begun, attributes=attributes)
        rounds = self._builder.take(facts)
        if self._run is None:
            return
        for span in rounds:
            self._send(span, self._run)
        if state.is_over:
            for span in self._builder.rest():
                self._send(span, self._run)
            self._run.set_attribute("hekat.status", state.status)
            self._run.end()
            self._run = None

    def _send(self, span: Span, parent: Any) -> None:
        from opentelemetry.trace import set_span_in_context

        context = set_span_in_context(parent)
        sent = self._tracer.start_span(span.name, context, start_time=span.start_ns, attributes=dict(span.attributes))
        for inner in span.inner:
            self._send(inner, sent)
        sent.end(span.end_ns)


class Tracing:
    """A context manager around the run: `tracer` while it goes on, and what is left is sent at its end.

    A tracer provider that a wrapper such as opentelemetry-instrument set up is used as it is.
    Raises HekatError without the extra, InputError for another exporter than otlp, console or none.
    """

    def __init__(self) -> None:
        try:
            from opentelemetry import trace
            from opentelemetry.sdk.trace import TracerProvider
        except ImportError as error:
            raise _no_extra() from error
        given = trace.get_tracer_provider()
        self._own = None if isinstance(given, TracerProvider) else _make_provider()
        self.tracer = (self._own or given).get_tracer("hekat")

    def __enter__(self) -> Tracing:
        return self

    def __exit__(self, *_: object) -> None:
        if self._own is None:
            return
        # A collector that does not answer holds up the command's end for so long and no longer.
        ending = threading.Thread(target=self._own.shutdown, name="hekat-traces", daemon=True)
        ending.start()
        ending.join(_FLUSH_WITHIN_S)


def _make_provider() -> Any:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

    chosen = os.environ.get(EXPORTER_VARIABLE, "otlp")
    if chosen not in _EXPORTERS:
        raise InputError(
            f"{EXPORTER_VARIABLE} names an exporter that Hekat does not set up",
            expected=", ".join(_EXPORTERS),
            got=repr(chosen),
            cure="set one of these, or run hekat under opentelemetry-instrument",
        )
    os.environ.setdefault("OTEL_SERVICE_NAME", SERVICE)
    provider = TracerProvider(resource=Resource.create(), shutdown_on_exit=False)
    if chosen == "console":
        provider.add_span_processor(BatchSpanProcessor(ConsoleSpanExporter()))
    elif chosen == "otlp":
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        except ImportError as error:
            raise _no_extra() from error
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _no_extra() -> HekatError:
    return HekatError(
        "--traces needs OpenTelemetry",
        expected="opentelemetry-sdk and its OTLP exporter over HTTP",
        got="no usable OpenTelemetry in this Python",
        cure="pip install 'hekat[traces]'",
    )
