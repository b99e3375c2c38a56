"""Who may do what at the broker: its configuration, and one credentials file a user, with the least permissions.

A learner may publish under its own name only, and read its ensemble's log; labels come only from who may give them;
only the owner makes, alters or deletes streams. The broker holds public keys alone: a seed is in one file, its user's.

What is refused, and what harmless (tests/test_provision.py tries each):

- To publish as another, to give a label, or to make, alter, purge or delete a stream or an entry is refused.
- A message that names another under one's own subject is stored, and has a fault for every reader.
- JetStream publishes its answers on the reply subject it is asked to use, whatever the asker may publish on. What a
  consumer delivers keeps its first subject, so it is a repeat; in another ensemble's stream, a fault. All other
  answers are JSON that is no event: a fault. The one that hands a payload on, direct get, is not granted, nor do our
  streams allow it.
- ``allow_responses``, NATS's way to answer requests, is not used: who sends himself a request whose reply subject is
  another's may then publish there what he likes. A learner answers a status request on its own `status_subject`.
- Message ids, by which the broker drops repeats, cannot be foreseen by others, nor can the names of readers.
- A message with a malformed or misleading header or subject is an entry with a fault; nats-py alone would stop reading.

What this cannot prevent:

- A member may read all of its ensemble's log: that is what the log is for.
- A member may fill its ensemble's stream with messages of its own, with repeats and with JSON as above, the streams of
  other ensembles at the same broker too; and use up the readers that a stream may have (`CONSUMERS_MAX`). Nothing
  false comes of it, but room and time are used. Limits on the stream (max_bytes) help, and to drop the user cures it.
- A member may vote late, having seen the others' votes, and some may agree on their votes; weights answer to that.
- Whoever has a user's seed is that user. The owner may do everything.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from quorate._extras import load
from quorate.errors import LocalError
from quorate.events import is_name
from quorate.log.subjects import status_subject, stream_of
from quorate.log.watch import inbox_of
from quorate.runtime.broker_options import (
    MARK,
    OPTIONS,
    OWNER,
    USERS,
    Options,
    Tls,
    config_text,
    read_options,
    users_text,
)

__all__ = ["OWNER", "Provisioned", "Role", "Tls", "permissions_of", "provision"]

_SUBJECT = re.compile(r"[^\s.*>\x00-\x1f]+(\.([^\s.*>\x00-\x1f]+|\*))*(\.>)?")
_KEY = re.compile(r"U[A-Z2-7]{55}")


class Role(NamedTuple):
    """What a user is in an ensemble.

    Parameters
    ----------
    ensemble
        The ensemble, whose log the user may read.
    learner
        The learner the user votes and decides as; None for one who does not.
    gives_labels
        Whether the user may give labels.
    publishes, subscribes
        Further subjects: where decisions are told, where instances or labels come from.
    """

    ensemble: str
    learner: str | None = None
    gives_labels: bool = False
    publishes: tuple[str, ...] = ()
    subscribes: tuple[str, ...] = ()


class Provisioned(NamedTuple):
    """What was written.

    Parameters
    ----------
    config
        The broker's configuration.
    users
        The part of it that says who may do what: the same for all brokers of a cluster.
    credentials
        The credentials file of each user, the owner included; it may have been moved to the user's site since.
    added, dropped
        Users that are new, and those that were known before and are so no longer.
    kept
        Users that were not named again, and are known as before.
    barred
        Users that are named, and were dropped now or before.
    """

    config: Path
    users: Path
    credentials: dict[str, Path]
    added: tuple[str, ...]
    dropped: tuple[str, ...]
    kept: tuple[str, ...]
    barred: tuple[str, ...]


def permissions_of(user: str, roles: Iterable[Role]) -> dict[str, list[str]]:
    """The subjects a user may publish on and subscribe to; all others are refused.

    >>> permissions_of("paris", [Role("grid", "paris")])["subscribe"]
    ['_INBOX_paris.>', 'quorate-status.grid']
    """
    publish: list[str] = []
    subscribe = [f"{inbox_of(user)}.>"]
    for role in roles:
        stream, subjects = stream_of(role.ensemble), f"quorate.{role.ensemble}"
        if role.learner is not None:
            publish += [f"{subjects}.{kind}.{role.learner}" for kind in ("vote", "decision", "member")]
            publish.append(status_subject(role.ensemble, role.learner))
            subscribe.append(status_subject(role.ensemble))
        if role.gives_labels:
            publish += [f"{subjects}.label", f"{subjects}.label.*"]
        publish.append(f"$JS.API.STREAM.INFO.{stream}")
        publish += [f"$JS.API.CONSUMER.{action}.{stream}.*" for action in ("CREATE", "MSG.NEXT")]
        publish += role.publishes
        subscribe += role.subscribes
    return {"publish": list(dict.fromkeys(publish)), "subscribe": list(dict.fromkeys(subscribe))}


def provision(
    out: Path,
    users: Mapping[str, Sequence[Role]],
    *,
    host: str | None = None,
    port: int | None = None,
    tls: Tls | None = None,
    labellers: Sequence[str] | None = None,
    onlookers: Sequence[str] | None = None,
    drop: Sequence[str] = (),
) -> Provisioned:
    """Write a broker's configuration and the credentials of its users; of those who have some, touch nothing.

    In `out` are then ``broker.conf``; ``users.conf``, which it includes; ``keys.json``, the public keys;
    ``options.json``, what was said here; and ``credentials/NAME.nk``, for each user and the owner. What is not said
    when it is written anew holds as before; what is to hold no longer, as TLS, is taken out of ``options.json``. A user
    who is not named again stays known; one that is dropped is not, once the broker has reloaded its configuration, and
    not as long as he is among ``dropped`` there. A user whose seed is lost is given another when his line is taken out
    of ``keys.json``.

    Parameters
    ----------
    out
        The folder.
    users
        What each user is, by name. A learner's user is mostly called as the learner.
    host, port
        Where the broker listens. Default: as before; at first 127.0.0.1:4222.
    tls
        The broker's certificate. Default: as before; at first none.
    labellers, onlookers
        Who of the users is no learner, to be found again in ``options.json``. Default: as before.
    drop
        Users that the broker is to know no longer.

    Raises
    ------
    LocalError
        A name or subject is not allowed, a file is missing or damaged, or ``broker.conf`` is not ours.
    """
    config, allowed_file, known_file = out / "broker.conf", out / USERS, out / "keys.json"
    for file in (config, allowed_file):
        if file.exists() and not file.read_text(errors="replace").startswith(MARK):
            raise LocalError(f"{file} was not written by quorate provision; move it away, or choose another folder")
    known, before = _known(known_file), read_options(out)
    for name in drop:
        if name == OWNER or name not in known:
            there = ", ".join(each for each in known if each != OWNER)
            raise LocalError(f"{name!r} cannot be dropped; the users that can are {there or 'none'}")
    if known and before is None and (host is None or port is None):
        raise LocalError(
            f"{out} has no {OPTIONS}, which says where the broker listens and with which certificate; get it back from "
            "a copy, or say all of it again: --host and --port, and what there was of --tls-..., --labeller, --onlooker"
        )
    options = (before or Options()).with_tls(out, tls)
    barred = tuple(name for name in users if name in (*drop, *options.dropped))
    users = {name: roles for name, roles in users.items() if name not in barred}
    kept = _kept(users, known, (*drop, *barred), options)
    _check([*users, *kept], users, options.tls(out))
    named = [OWNER, *users, *kept]
    files = {name: out / "credentials" / f"{name}.nk" for name in named}
    new = {name: _new_seed() for name in named if name not in known}
    keys = {name: known[name] if name in known else _key_of(new[name]) for name in named}
    given = {"host": host, "port": port, "labellers": labellers, "onlookers": onlookers}
    options = replace(options, **{key: value for key, value in given.items() if value is not None})
    options = replace(
        options,
        labellers=[name for name in options.labellers if name not in drop],
        onlookers=[name for name in options.onlookers if name not in drop],
        dropped=list(barred),
        allowed={name: permissions_of(name, roles) for name, roles in users.items()}
        | {name: options.allowed[name] for name in kept},
    )
    texts = {allowed_file: users_text(keys, options), config: config_text(out, options)}
    _write_seeds({files[name]: seed for name, seed in new.items()})
    _write(out / OPTIONS, options.text())
    _write(known_file, json.dumps(keys, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    for file, text in texts.items():
        _write(file, text)
    dropped = tuple(name for name in known if name not in keys)
    return Provisioned(config, allowed_file, files, tuple(new), dropped, kept, barred)


def _kept(
    users: Mapping[str, Sequence[Role]], known: Mapping[str, str], drop: Sequence[str], options: Options
) -> tuple[str, ...]:
    """Who is known, not named again and not dropped either."""
    kept = tuple(name for name in known if name not in (OWNER, *users, *drop))
    for name in kept:
        if name not in options.allowed:
            raise LocalError(f"{OPTIONS} does not say what {name!r} may do; name it again, or drop it (--drop {name})")
    return kept


def _check(names: Sequence[str], users: Mapping[str, Sequence[Role]], tls: Tls | None) -> None:
    folded: dict[str, str] = {}
    for user in names:
        if not is_name(user) or user == OWNER:
            raise LocalError(f"a user is called {user!r}; a name is 1 to 64 letters, digits, '_' or '-', not {OWNER!r}")
        if (other := folded.setdefault(user.casefold(), user)) != user:
            raise LocalError(f"users are called {other!r} and {user!r}; some disks cannot tell their files apart")
    for user, roles in users.items():
        for role in roles:
            for name in (role.ensemble, role.learner):
                if name is not None and not is_name(name):
                    raise LocalError(f"user {user!r}: {name!r} is no name; use 1 to 64 letters, digits, '_' or '-'")
            asks = (status_subject(role.ensemble), status_subject(role.ensemble, "*"))  # for whoever looks on
            for given, allowed in ((role.publishes, asks[0]), (role.subscribes, asks[1])):
                for subject in given:
                    if subject != allowed:
                        _check_subject(user, subject)
    for file in tls or ():
        if file is not None and not file.is_file():
            raise LocalError(f"the certificate file {file} is not there; put it there, or name another")


def _check_subject(user: str, subject: str) -> None:
    first = subject.partition(".")[0]
    if _SUBJECT.fullmatch(subject) is None:
        raise LocalError(f"user {user!r}: {subject!r} is no subject; write words with '.' between, as 'sensors.paris'")
    if first in ("quorate", "quorate-status") or first.startswith(("$", "_")):
        raise LocalError(
            f"user {user!r}: the subject {subject!r} is not for users: 'quorate', 'quorate-status' and what begins "
            "with '$' or '_' is given by roles alone"
        )


def _known(file: Path) -> dict[str, str]:
    try:
        known = json.loads(file.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise LocalError(
            f"{file} cannot be read: {error}; get it back from a copy, or move it away: all users then "
            "need new credentials"
        ) from None
    if not isinstance(known, dict) or not all(_KEY.fullmatch(str(key)) for key in known.values()):
        raise LocalError(f"{file} does not hold public keys by user; get it back from a copy")
    return known


def _new_seed() -> str:
    nkeys = load("nkeys", "A credentials file")
    seed: bytes = nkeys.encode_seed(secrets.token_bytes(32), nkeys.PREFIX_BYTE_USER)
    return seed.decode().rstrip("=")


def _key_of(seed: str) -> str:
    key: bytes = load("nkeys", "A credentials file").from_seed(bytearray(seed.encode())).public_key
    return key.decode()


def _write_seeds(seeds: Mapping[Path, str]) -> None:
    for file in seeds:
        if file.exists():  # it may be that of a user who was dropped because others know it
            raise LocalError(
                f"{file} is there, but keys.json does not know its user; move it away to make new credentials"
            )
    for file, seed in seeds.items():
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as target:
            target.write(f"{seed}\n")


def _write(file: Path, text: str) -> None:
    """Write a file whole or not at all, and not where it says the same."""
    if file.exists() and file.read_text() == text:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f".{file.name}.new")
    new.write_text(text)
    new.replace(file)
