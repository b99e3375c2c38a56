"""How a process reaches the logs of its ensembles: in memory, or through one connection to a broker."""

from __future__ import annotations

import logging
import os
import ssl
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from quorate.errors import LocalError
from quorate.log import JetStreamLog, Log, MemoryLog
from quorate.log.jetstream import connect
from quorate.runtime.config import Config

__all__ = ["BrokerLinks", "Links", "MemoryLinks", "credentials_of", "tls_of"]

#: How many messages the log of an ensemble in one process keeps.
MESSAGES_MAX = 1_000_000

_logger = logging.getLogger("quorate.link")


class Links(Protocol):
    """Gives the log of each ensemble."""

    connection: Any
    """The connection to the broker; None where there is none."""

    @property
    def is_connected(self) -> bool:
        """Whether the logs can be reached now."""

    async def log_of(self, config: Config) -> Log:
        """The log of an ensemble."""

    async def close(self) -> None:
        """Let go of everything."""


class MemoryLinks:
    """Logs in this process."""

    def __init__(self) -> None:
        self.connection: Any = None
        self.is_connected = True
        self._logs: dict[str, MemoryLog] = {}

    async def log_of(self, config: Config) -> Log:
        """The log of an ensemble, the same each time."""
        return self._logs.setdefault(config.name, MemoryLog(MESSAGES_MAX))

    async def close(self) -> None:
        """End all reading."""
        for log in self._logs.values():
            await log.close()


class BrokerLinks:
    """Logs of a broker, through one connection.

    Parameters
    ----------
    connection
        Of nats-py.
    """

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self._logs: dict[str, JetStreamLog] = {}

    @classmethod
    async def open(
        cls,
        config: Config,
        name: str,
        *,
        servers: list[str] | None = None,
        credentials: Path | None = None,
    ) -> Self:
        """Connect as a learner, or as another user of the broker."""
        addresses = servers or config.file.broker.servers
        if not addresses:
            raise LocalError(f"{config.path} does not say where the broker is; give `broker.servers`")

        def tell(state: str) -> None:
            _logger.info("%s: %s", name, state)

        found = credentials or credentials_of(config, name)
        return cls(await connect(addresses, name, tell, credentials=found, tls=tls_of(config)))

    @property
    def is_connected(self) -> bool:
        """Whether the broker can be reached now."""
        return bool(self.connection.is_connected)

    async def log_of(self, config: Config, *, declare: bool | None = None) -> Log:
        """The log of an ensemble, opened once."""
        if config.name not in self._logs:
            broker = config.file.broker
            self._logs[config.name] = await JetStreamLog(self.connection, config.name).open(
                declare=broker.declare if declare is None else declare,
                replicas=broker.replicas,
                max_age_s=broker.max_age_s,
                max_bytes=broker.max_bytes or -1,
            )
        return self._logs[config.name]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the broker; it may be gone already."""
        for log in self._logs.values():
            await log.close()
        try:
            await self.connection.close()
        except OSError as error:
            _logger.info("closing: %s", error)


def credentials_of(config: Config, name: str) -> Path | None:
    """The file of a user's key: QUORATE_CREDENTIALS, else what the file says; None for none."""
    given = os.environ.get("QUORATE_CREDENTIALS")
    if given:
        return Path(given)
    pattern = config.file.broker.credentials
    return None if pattern is None else config.beside(pattern.replace("{name}", name))


def tls_of(config: Config) -> ssl.SSLContext | None:
    """How the broker's certificate is checked, and what we show; None without TLS."""
    broker = config.file.broker
    if broker.tls_ca is None and broker.tls_certificate is None:
        return None
    try:
        context = ssl.create_default_context(cafile=None if broker.tls_ca is None else config.beside(broker.tls_ca))
        if broker.tls_certificate is not None and broker.tls_key is not None:
            context.load_cert_chain(config.beside(broker.tls_certificate), config.beside(broker.tls_key))
    except (OSError, ssl.SSLError) as error:
        raise LocalError(f"{config.path}: the certificates cannot be read (`broker.tls_...`): {error}") from None
    return context
