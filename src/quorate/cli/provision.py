"""`quorate provision`: a broker's configuration and one key a learner."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

from quorate.cli.output import Output, print_json
from quorate.errors import LocalError
from quorate.events import Decision
from quorate.log.subjects import subject_of
from quorate.runtime.config import Config, read_config
from quorate.runtime.provision import Role, Tls, provision, status_subject

__all__ = ["roles_of", "show"]


def roles_of(config: Config, labellers: list[str], onlookers: list[str]) -> dict[str, list[Role]]:
    """Who may do what in an ensemble, and in those that are models in it."""
    roles: dict[str, list[Role]] = defaultdict(list)
    for each in config.family():
        asks = {"publishes": (status_subject(each.name),), "subscribes": (status_subject(each.name, "*"),)}
        for learner in each.learners:
            publishes, subscribes = list(asks["publishes"]), list(asks["subscribes"])
            source, labels = each.source_of(learner), each.file.labels
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
            roles[name].append(Role(each.name, None, True))
        for name in onlookers:
            roles[name].append(Role(each.name, None, False, asks["publishes"], asks["subscribes"]))
    return dict(roles)


def show(
    file: Path,
    out: Path,
    *,
    host: str,
    port: int,
    labellers: list[str],
    onlookers: list[str],
    tls: tuple[Path | None, Path | None, Path | None],
    as_json: bool,
) -> None:
    """Write the files, and say what to do with them."""
    config = read_config(file)
    certificate, key, ca = tls
    if (certificate is None) != (key is None) or (ca is not None and certificate is None):
        raise LocalError("--tls-certificate and --tls-key go together, and --tls-ca with both")
    secured = Tls(certificate, key, ca) if certificate is not None and key is not None else None
    made = provision(out, roles_of(config, labellers, onlookers), host=host, port=port, tls=secured)
    if as_json:
        print_json(
            {
                "config": str(made.config),
                "credentials": {name: str(path) for name, path in made.credentials.items()},
                "added": list(made.added),
                "dropped": list(made.dropped),
            }
        )
        return
    console = Output()
    for word, names in (("new", made.added), ("no longer known", made.dropped)):
        if names:
            console.print(f"{word}: {', '.join(names)}", highlight=False)
    shown = os.path.relpath(made.config)
    console.print(f"The broker: nats-server -c {shown} (one that runs: nats-server --signal reload)", highlight=False)
    console.print(
        f"The streams, once: quorate declare {file} --credentials {os.path.relpath(made.credentials['owner'])}",
        highlight=False,
    )
    console.print("Each learner's key goes to its site, and nowhere else; the owner's stays with you:", highlight=False)
    for name, path in made.credentials.items():
        console.print(f"  {name}: {os.path.relpath(path)}", highlight=False)
