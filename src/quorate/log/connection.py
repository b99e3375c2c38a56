"""The connection to a broker: made at once or not at all, then never given up."""

from __future__ import annotations

import hashlib
import re
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quorate._extras import load
from quorate.errors import CredentialsError, LocalError, LogError, RefusedError
from quorate.log.watch import Watch, inbox_of, reason_of, watches

__all__ = ["connect", "seed_of"]

#: How long is waited between attempts to connect again, at first and at last.
RECONNECT_S, RECONNECT_MAX_S = 0.1, 2.0

_UNKNOWN = re.compile(r"authorization violation|authentication (revoked|expired)", re.IGNORECASE)


def seed_of(path: Path) -> str:
    """Read a credentials file: the seed of a user's key.

    Raises
    ------
    LocalError
        It cannot be read, or holds no such seed; the message says what to do.

    Examples
    --------
    >>> seed_of(Path("nowhere.nk"))
    Traceback (most recent call last):
    ...
    quorate.errors.LocalError: the credentials file nowhere.nk cannot be read: No such file or directory; ask the owner
    of the broker for it (quorate provision)
    """
    nkeys = load("nkeys", "A credentials file")
    try:
        seed = path.read_text("ascii").strip()
    except OSError as error:
        raise LocalError(
            f"the credentials file {path} cannot be read: {error.strerror}; ask the owner of the broker for it "
            "(quorate provision)"
        ) from None
    except UnicodeDecodeError:
        seed = ""
    try:
        prefix, raw = nkeys.decode_seed(seed.encode())
        whole = prefix == nkeys.PREFIX_BYTE_USER and nkeys.encode_seed(raw, prefix).decode().rstrip("=") == seed
    except Exception:  # nkeys lets errors of what it is built on through
        whole = False
    if not whole:
        raise LocalError(
            f"the credentials file {path} holds no seed of a user's key (one line that begins with SU), or a damaged "
            "one; ask the owner of the broker for it (quorate provision)"
        )
    return seed


async def connect(
    servers: str | list[str],
    name: str,
    on_state: Callable[[str], None] = lambda state: None,
    *,
    credentials: Path | None = None,
    tls: ssl.SSLContext | None = None,
    **options: Any,
) -> Any:
    """Connect to a broker, at once or not at all; then never give up on it again.

    Parameters
    ----------
    servers
        Addresses, as ``nats://127.0.0.1:4222``; several, of brokers that form a cluster.
    name
        Who we are: the user's name, as the credentials were provisioned for it.
    on_state
        Called with ``connected``, ``disconnected``, ``reconnected`` and ``closed``, and with complaints.
    credentials
        A file with the seed of the user's key.
    tls
        How to check the broker's certificate; a broker without TLS is then refused.
    options
        Further ones of nats-py.

    Returns
    -------
    nats.aio.client.Client
        The connection, which any number of logs may share.

    Raises
    ------
    CredentialsError
        The broker does not know us.
    LogError
        No broker could be reached; each was tried once. The message says why.
    LocalError
        The credentials file is of no use, or the name is none.
    """
    if re.fullmatch(r"[\w-]+", name) is None:
        raise LocalError(f"a user is called {name!r}; use letters, digits, '_' and '-'")
    errors = load("nats.errors", "The JetStream log")
    addresses = [servers] if isinstance(servers, str) else list(servers)
    seed = seed_of(credentials) if credentials is not None else None
    key = b"" if seed is None else hashlib.blake2b(seed.encode(), digest_size=32, person=b"quorate ids").digest()
    watch = Watch(name, key, on_state)
    clients = load("quorate.log.client", "The JetStream log")
    client = clients.Client(needs_tls=tls is not None)
    failures: list[str] = []
    shown = f"the credentials of {credentials}" if credentials is not None else "no credentials"
    unknown = CredentialsError(
        f"the broker at {', '.join(addresses)} does not know {name!r}, who shows {shown}: ask its owner for "
        "credentials that are in the broker's configuration (quorate provision)"
    )

    async def on_error(error: Exception) -> None:
        reason = reason_of(error)
        if is_up:
            if _UNKNOWN.search(reason):
                watch.lose(unknown)
            if not client.is_connected:
                client.options["reconnect_time_wait"] = min(
                    1.5 * client.options["reconnect_time_wait"], RECONNECT_MAX_S
                )
            watch.complain(error)
        elif client.last_error is error:  # what comes of closing after a failure is no failure of its own
            client.drop_transport()
            if _UNKNOWN.search(reason):
                raise unknown
            failures.append(reason)
            if len(failures) >= len(addresses):  # raised from here it ends nats-py's trying, which nothing else does
                raise LogError(f"no connection to {', '.join(addresses)}: {'; '.join(dict.fromkeys(failures))}")

    async def on_disconnected() -> None:
        if isinstance(watch.lost, RefusedError):  # the next connection will see for itself
            watch.lose(None)
        watch.broke()
        watch.tell("disconnected")

    async def on_reconnected() -> None:
        client.options["reconnect_time_wait"] = RECONNECT_S
        if isinstance(watch.lost, CredentialsError):
            watch.lose(None)
        watch.tell("reconnected")

    async def on_closed() -> None:
        if isinstance(client.last_error, errors.AuthorizationError) or _UNKNOWN.search(str(client.last_error)):
            watch.lose(unknown)
        elif watch.lost is None:
            watch.lose(LogError(f"the connection of {name!r} to the broker was closed"))
        watch.tell("closed")

    is_up = False
    try:
        await client.connect(
            addresses,
            name=name,
            inbox_prefix=inbox_of(name),
            nkeys_seed_str=seed,
            tls=tls,
            allow_reconnect=True,
            max_reconnect_attempts=-1,
            reconnect_time_wait=RECONNECT_S,
            connect_timeout=clients.STEP_S,
            ping_interval=10,
            error_cb=on_error,
            disconnected_cb=on_disconnected,
            reconnected_cb=on_reconnected,
            closed_cb=on_closed,
            **options,
        )
    except BaseException as error:
        if client.is_connected:
            await client.close()
        client.drop_transport()
        if isinstance(error, errors.Error | OSError):
            raise LogError(f"no connection to {', '.join(addresses)}: {reason_of(error)}") from None
        raise
    is_up = True
    watches[client] = watch
    watch.tell("connected")
    return client
