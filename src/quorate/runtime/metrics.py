"""Metrics for Prometheus and a health check, over HTTP, for one process."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from types import TracebackType
from typing import Any, Self
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from quorate._extras import load
from quorate.errors import LocalError
from quorate.runtime.report import Report

__all__ = ["MetricsServer"]

_COUNTERS = {
    "decisions": "Slots decided.",
    "labels": "Labels learned.",
    "mistakes": "Decisions that a label showed to be wrong.",
    "late_votes": "Votes that came after their slot was decided.",
    "skipped": "Slots that were passed over: a later one was decided first.",
    "faults": "Entries of the log that could not be used.",
}
_GAUGES = {
    "slot": "The last slot that was decided.",
    "voted": "The last slot that was voted on.",
    "position": "The last entry of the log that was applied.",
    "pending": "Slots that wait for their label.",
    "open": "Slots that wait for votes.",
    "unsent": "Events that wait for the log.",
    "epoch": "Changes of membership so far.",
}


class _Collector:
    """Asks for reports when Prometheus does."""

    def __init__(self, ask: Callable[[], list[Report]]) -> None:
        self._ask = ask

    def collect(self) -> Iterable[Any]:
        core = load("prometheus_client.core", "Metrics")
        reports = self._ask()
        names = ["ensemble", "learner"]
        for kind, texts in ((core.CounterMetricFamily, _COUNTERS), (core.GaugeMetricFamily, _GAUGES)):
            for key, text in texts.items():
                family = kind(f"quorate_{key}", text, labels=names)
                for report in reports:
                    family.add_metric([report.ensemble, report.learner], getattr(report, key))
                yield family
        live = core.GaugeMetricFamily("quorate_live", "Whether it has caught up and has its log.", labels=names)
        weight = core.GaugeMetricFamily("quorate_weight", "The rule's weights.", labels=[*names, "member"])
        share = core.GaugeMetricFamily(
            "quorate_share", "What the rule trusts, as parts of 1.", labels=[*names, "member"]
        )
        for report in reports:
            live.add_metric([report.ensemble, report.learner], float(report.state == "live"))
            for member, value in zip(["bias", *report.members], report.weights, strict=False):
                weight.add_metric([report.ensemble, report.learner, member], value)
            for member, value in report.shares.items():
                share.add_metric([report.ensemble, report.learner, member], value)
        yield live
        yield weight
        yield share


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # its name there
        """Say nothing: who asks, asks every few seconds."""


class MetricsServer:
    """``/metrics`` and ``/health``; the latter answers 200 when all nodes are live, else 503.

    Parameters
    ----------
    ask
        Gives the reports of now.
    port
        Where; 0 for any free port.
    host
        On which address. Default: this machine only.

    Attributes
    ----------
    port
        Where it listens.
    """

    def __init__(self, ask: Callable[[], list[Report]], port: int, host: str = "127.0.0.1") -> None:
        prometheus = load("prometheus_client", "Metrics")
        registry = prometheus.CollectorRegistry(auto_describe=False)
        registry.register(_Collector(ask))
        metrics = prometheus.make_wsgi_app(registry)

        def answer(environ: dict[str, Any], start: Any) -> Any:
            known = environ["PATH_INFO"] == "/health"
            try:
                if environ["PATH_INFO"] == "/metrics":
                    return metrics(environ, start)
                found = ask() if known else []
            except TimeoutError:
                start("503 Service Unavailable", [_JSON])
                return [b'{"error": "the node does not answer"}\n']
            good = known and all(report.state == "live" for report in found)
            start("200 OK" if good else "503 Service Unavailable" if known else "404 Not Found", [_JSON])
            return [json.dumps([report.document() for report in found] if known else _PATHS).encode() + b"\n"]

        try:
            self._server = make_server(host, port, answer, _Server, _Quiet)
        except OSError as error:
            raise LocalError(
                f"metrics cannot be served at {host}:{port}: {error.strerror}; take another port"
            ) from None
        self.port = self._server.server_port

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, name="quorate-metrics", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


_JSON = ("Content-Type", "application/json")
_PATHS = {"paths": ["/metrics", "/health"]}
