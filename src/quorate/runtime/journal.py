"""What a node says while it works: one line an event on standard error, for people or for machines."""

from __future__ import annotations

import json
import logging
import sys
import time

__all__ = ["JsonLines", "begin_journal"]


class JsonLines(logging.Formatter):
    """A log record as a JSON object: time, level, part, message, and the error if there was one.

    >>> record = logging.LogRecord("quorate.node", logging.WARNING, "", 0, "%s: away", ("paris",), None)
    >>> json.loads(JsonLines().format(record))["message"]
    'paris: away'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Give the line."""
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{when}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "part": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line)


def begin_journal(level: str, form: str) -> None:
    """Write what Quorate logs to standard error, from a level on, as ``text`` or as ``json``."""
    handler = logging.StreamHandler(sys.stderr)
    plain = logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s")
    handler.setFormatter(JsonLines() if form == "json" else plain)
    logger = logging.getLogger("quorate")
    logger.handlers[:] = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False
