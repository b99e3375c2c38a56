"""`quorate provision`: a broker's configuration and one key a learner."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from quorate.cli.output import Output, print_json
from quorate.errors import LocalError
from quorate.events import Decision
from quorate.log.subjects import status_subject, subject_of
from quorate.runtime.broker_options import OPTIONS, Options, read_options
from quorate.runtime.config import Config, read_config
from quorate.runtime.provision import OWNER, Role, Tls, provision

__all__ = ["roles_of", "show"]


def roles_of(config: Config, labellers: Iterable[str], onlookers: Iterable[str]) -> dict[str, list[Role]]:
    """Who may do what in an ensemble, and in those that are models in it."""
    roles: dict[str, list[Role]] = defaultdict(list)
    for each in config.family():
        asks = {"publishes": (status_subject(each.name),), "subscribes": (status_subject(each.name, "*"),)}
        labels = each.file.labels
        for learner in each.learners:
            publishes, subscribes = list(asks["publishes"]), list(asks["subscribes"])
            source = each.source_of(learner)
            if source.subject is not None:
                subscribes.append(source.subject)
            gives = each.label_giver == learner.name
            if gives and labels.subject is not None:
                subscribes.append(labels.subject)
            if each.file.decisions.subject is not None:
                publishes.append(each.file.decisions.subject.replace("{name}", learner.name))
            roles[learner.name].append(Role(each.name, learner.name, gives, tuple(publishes), tuple(subscribes)))
            if (child := each.children.get(learner.name)) is not None:
                tells = (
                    subject_of(child.name, Decision(0, learner.name, 1, ())),
                    status_subject(child.name, learner.name),
                )
                roles[learner.name].append(
                    Role(child.name, None, publishes=tells, subscribes=(status_subject(child.name),))
                )
        for name in labellers:
            roles[name].append(Role(each.name, None, True, () if labels.subject is None else (labels.subject,)))
        for name in onlookers:
            roles[name].append(Role(each.name, None, False, asks["publishes"], asks["subscribes"]))
    return dict(roles)


def show(
    file: Path,
    out: Path,
    *,
    host: str | None,
    port: int | None,
    labellers: Sequence[str],
    onlookers: Sequence[str],
    drop: Sequence[str],
    tls: tuple[Path | None, Path | None, Path | None],
    as_json: bool,
) -> None:
    """Write the files, and say what to do with them."""
    config = read_config(file)
    before = read_options(out) or Options()
    for name in drop:
        if name in (*labellers, *onlookers):
            raise LocalError(f"--drop {name} and --labeller or --onlooker {name} contradict each other; say one")
    may_label, may_look = (
        [*dict.fromkeys([*(name for name in old if name not in drop), *new])]
        for old, new in ((before.labellers, labellers), (before.onlookers, onlookers))
    )
    made = provision(
        out,
        roles_of(config, may_label, may_look),
        host=host,
        port=port,
        tls=_tls(before.tls(out), *tls),
        labellers=may_label,
        onlookers=may_look,
        drop=drop,
    )
    if as_json:
        print_json(
            {
                "config": str(made.config),
                "credentials": {name: str(path) for name, path in made.credentials.items()},
                "added": list(made.added),
                "dropped": list(made.dropped),
                "still_known": list(made.kept),
                "barred": list(made.barred),
            }
        )
        return
    console = Output()
    for word, names in (("new", made.added), ("no longer known", made.dropped)):
        if names:
            console.print(f"{word}: {', '.join(names)}", highlight=False)
    for name in made.kept:
        console.print(
            f"{name} is not in {file}, and still known to the broker: use --drop {name} to revoke it", highlight=False
        )
    for name in made.barred:
        console.print(
            f"{name} is in {file}, and was dropped: to let it in again, take it out of `dropped` in "
            f"{os.path.relpath(out / OPTIONS)}",
            highlight=False,
        )
    shown, pid = os.path.relpath(made.config), os.path.relpath(out / "broker.pid")
    console.print(
        f"The broker: nats-server -c {shown} (one that runs: nats-server --signal reload={pid})", highlight=False
    )
    console.print(
        f"The streams, once: quorate declare {file} --credentials {os.path.relpath(made.credentials[OWNER])}",
        highlight=False,
    )
    console.print("Each learner's key goes to its site, and nowhere else; the owner's stays with you:", highlight=False)
    for name, path in made.credentials.items():
        console.print(f"  {name}: {os.path.relpath(path)}", highlight=False)


def _tls(before: Tls | None, certificate: Path | None, key: Path | None, ca: Path | None) -> Tls | None:
    """The certificate that is given; None where none is."""
    if certificate is not None and key is not None:
        return Tls(certificate, key, ca)
    if certificate is not None or key is not None or (ca is not None and before is None):
        raise LocalError("--tls-certificate and --tls-key go together, and --tls-ca with both")
    return before._replace(ca=ca) if before is not None and ca is not None else None
