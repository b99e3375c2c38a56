"""What is said about a broker when it is provisioned, kept to be said once only; and its configuration made of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from quorate.errors import LocalError

__all__ = ["MARK", "OPTIONS", "OWNER", "USERS", "Options", "Tls", "config_text", "read_options", "users_text"]

#: The user who may do everything.
OWNER = "owner"
#: The first line of a configuration that is ours to write anew.
MARK = "# Written by quorate provision, which writes it anew: put what is yours into local.conf beside it."
#: The part of the configuration that says who may do what, and what is the owner's own, included where it is there.
USERS, LOCAL = "users.conf", "local.conf"
#: What was said; there is no secret in it.
OPTIONS = "options.json"


class Tls(NamedTuple):
    """The broker's certificate.

    Parameters
    ----------
    certificate, key
        Files of the certificate chain and its key.
    ca
        The authority whose certificates users must show; None where they need not, or as was said before.
    """

    certificate: Path
    key: Path
    ca: Path | None = None


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``options.json`` holds. Files in the broker's folder are seen from there: the folder may move."""

    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=1, le=65535)] = 4222
    store: str = "jetstream"
    tls_certificate: str | None = None
    tls_key: str | None = None
    tls_ca: str | None = None
    labellers: list[str] = []
    onlookers: list[str] = []
    dropped: list[str] = []
    """Who is dropped and named all the same: the table of a first member stays, as the log begins with it."""
    allowed: dict[str, dict[str, list[str]]] = {}
    """What each user may publish on and subscribe to: it still holds for one who is named no longer."""

    def tls(self, out: Path) -> Tls | None:
        """The certificate, by absolute paths; None for none."""
        if self.tls_certificate is None or self.tls_key is None:
            return None
        whole = out.absolute()
        return Tls(
            whole / self.tls_certificate, whole / self.tls_key, None if self.tls_ca is None else whole / self.tls_ca
        )

    def with_tls(self, out: Path, tls: Tls | None) -> Options:
        """The same with another certificate; what that leaves out stays."""
        if tls is None:
            return self
        certificate, key = _seen_from(out, tls.certificate), _seen_from(out, tls.key)
        ca = self.tls_ca if tls.ca is None else _seen_from(out, tls.ca)
        return msgspec.structs.replace(self, tls_certificate=certificate, tls_key=key, tls_ca=ca)

    def text(self) -> str:
        """What is written."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode() + "\n"


def read_options(out: Path) -> Options | None:
    """What was said before; None where nothing was.

    Parameters
    ----------
    out
        The broker's folder.

    Raises
    ------
    LocalError
        The file is damaged.
    """
    file = out / OPTIONS
    try:
        return msgspec.json.decode(file.read_bytes(), type=Options)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise LocalError(
            f"{file} cannot be read: {error}; get it back from a copy, or move it away and give every option anew"
        ) from None


def _seen_from(out: Path, file: Path) -> str:
    """A file's name: relative where it is in the folder."""
    whole, folder = file.absolute(), out.absolute()
    return (whole.relative_to(folder) if whole.is_relative_to(folder) else whole).as_posix()


def config_text(out: Path, options: Options) -> str:
    """What ``broker.conf`` says."""
    whole, tls = out.absolute(), options.tls(out)
    lines = [
        MARK,
        "# Paths are absolute, as it may be started anywhere: run quorate provision again if this folder moves.",
        f"listen: {_quoted(f'{options.host}:{options.port}')}",
        f"pid_file: {_path(whole / 'broker.pid')}  # nats-server --signal reload=broker.pid",
        "# Every write reaches the disk before it is confirmed. NATS would do that each 2 minutes, and a loss of power",
        "# would take from the log what learners have acted on.",
        f"jetstream {{ store_dir: {_path(whole / options.store)}, sync_interval: always }}",
        f"include {_quoted(USERS)}",
    ]
    if tls is not None:
        parts = [f"cert_file: {_path(tls.certificate)}", f"key_file: {_path(tls.key)}"]
        if tls.ca is not None:
            parts += [f"ca_file: {_path(tls.ca)}", "verify: true"]
        lines.append(f"tls {{ {', '.join(parts)} }}")
    if (out / LOCAL).exists():
        lines.append(f"include {_quoted(LOCAL)}")
    return "\n".join(lines) + "\n"


def users_text(keys: Mapping[str, str], options: Options) -> str:
    """What ``users.conf`` says: the public key of each user, and what he may do."""
    lines = [MARK, "authorization {", "  users: ["]
    for name, key in keys.items():
        allowed = {"publish": [">"], "subscribe": [">"]} if name == OWNER else options.allowed[name]
        lines += [f"    # {name}", f"    {{ nkey: {key}, permissions: {{"]
        for action in ("publish", "subscribe"):
            lines.append(f"      {action}: {{ allow: [{', '.join(map(_quoted, allowed.get(action, [])))}] }}")
        lines.append("    } }")
    return "\n".join([*lines, "  ]", "}"]) + "\n"


def _path(path: Path) -> str:
    return _quoted(path.as_posix())


def _quoted(text: str) -> str:
    if any(character in text for character in "\"'\\\n"):
        raise LocalError(f"{text!r} cannot stand in a broker's configuration; do without quotes and backslashes")
    return f'"{text}"'
