"""Schemes: ensembles that retrain their members, and so need the features. One a file, each a River classifier."""

from quorate._extras import load

load("river", "quorate.schemes")

from quorate.schemes.add_exp import AddExp  # noqa: E402  # after the error that names the extra
from quorate.schemes.base import ChunkScheme, Member, Scheme  # noqa: E402
from quorate.schemes.ddd import DDD  # noqa: E402
from quorate.schemes.dwm import DWM  # noqa: E402
from quorate.schemes.ensemble_tracker import EnsembleTracker  # noqa: E402
from quorate.schemes.fan_boosting import FanBoosting  # noqa: E402
from quorate.schemes.multi_partition_ensemble import MultiPartitionEnsemble  # noqa: E402
from quorate.schemes.sea import SEA  # noqa: E402
from quorate.schemes.wang_ensemble import WangEnsemble  # noqa: E402

__all__ = [
    "DDD",
    "DWM",
    "SCHEMES",
    "SEA",
    "AddExp",
    "ChunkScheme",
    "EnsembleTracker",
    "FanBoosting",
    "Member",
    "MultiPartitionEnsemble",
    "Scheme",
    "WangEnsemble",
]

#: Every scheme of the package, by name.
SCHEMES: dict[str, type[Scheme]] = {
    scheme.__name__: scheme
    for scheme in (FanBoosting, WangEnsemble, SEA, MultiPartitionEnsemble, EnsembleTracker, AddExp, DWM, DDD)
}
