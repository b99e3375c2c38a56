"""Eight processes on a real broker, killed again and again: nothing is lost, nothing is applied twice."""

from __future__ import annotations

import asyncio
import json
import os
import random
from pathlib import Path

from quorate.log.broker import Broker
from tests.fleet import Fleet
from tests.sites import NAMES, truth, view

#: How many kills there are at least; `make torture` asks for more.
KILLS = int(os.environ.get("QUORATE_KILLS", "10"))


def test_processes_that_are_killed_again_and_again(tmp_path: Path) -> None:
    async def story() -> None:
        n_slots, rate = 60 * KILLS, 60.0
        draw = random.Random(int(os.environ.get("QUORATE_FIRST_SEED", "0")))
        async with Broker(tmp_path / "broker") as broker:
            fleet = Fleet(tmp_path, NAMES, broker.address, n_slots=n_slots, rate=rate)
            try:
                await fleet.start_all()
                await asyncio.sleep(3.0)
                kills = 0
                away = NAMES[3]
                while kills < KILLS:
                    name = NAMES[kills % len(NAMES)]
                    await asyncio.sleep(draw.random() * 0.6)
                    await fleet.mend()
                    fleet.kill(name)
                    kills += 1
                    await fleet.processes[name].wait()
                    if name == away and kills < len(NAMES):
                        continue  # for a while nobody starts it again
                    await fleet.start(name)
                    if kills in (KILLS // 3, 2 * KILLS // 3):
                        await broker.kill()
                        await asyncio.sleep(draw.random())
                        await broker.start()
                    if kills == len(NAMES) + 1 and not fleet.alive(away):
                        await fleet.start(away)
                if not fleet.alive(away):
                    await fleet.start(away)
                async with asyncio.timeout(180 + n_slots / rate):
                    await fleet.until_idle()
                codes = await asyncio.gather(*(fleet.stop(name) for name in NAMES))
                assert codes == [0] * len(NAMES)

                votes, labels = await fleet.in_the_log()
                assert votes == {name: {slot: view(name, slot) for slot in range(n_slots)} for name in NAMES}
                given = {slot: truth(slot) for slot in range(n_slots - 20)}  # later ones may be due after the end
                assert {slot: label for slot, label in labels.items() if slot in given} == given

                code, out, err = await fleet.ask("replay", str(fleet.file), "--json")
                assert code == 0, out + err
                for found in json.loads(out)["learners"]:
                    assert found["difference"] is None
                    assert found["decisions"] == found["checked"] == n_slots
                    assert found["checkpoint"] == found["position"]  # weights, decisions and counters, at the very end
                for name in NAMES:
                    assert [slot for slot, _ in fleet.decided(name)] == list(range(n_slots))
            finally:
                await fleet.end()

    asyncio.run(story())
