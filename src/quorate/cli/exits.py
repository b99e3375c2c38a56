"""The exit codes of the command line.

==== ===========================================================
code meaning
==== ===========================================================
0    it worked
1    a check failed: the output says which
2    the command line was wrong: an unknown option, a bad value
3    the input was wrong: a file, a value, a snapshot
4    an optional library is missing: the message names the extra
5    a file could not be read or written
6    the log could not be reached, or has lost what was asked for
7    the broker does not know these credentials
8    the broker does not allow this
70   a defect of Quorate: please report it with the message
130  interrupted
==== ===========================================================
"""

from __future__ import annotations

from quorate.errors import CredentialsError, EndedError, LogError, MissingExtraError, QuorateError, RefusedError

__all__ = ["EXIT_CODES", "EXIT_DEFECT", "EXIT_INTERRUPTED", "exit_code_of"]

#: Any error that is nobody's but ours.
EXIT_DEFECT = 70
#: Ctrl-C.
EXIT_INTERRUPTED = 130

#: What each exit code means, for `quorate --help`.
EXIT_CODES = {
    0: "it worked",
    1: "a check failed",
    2: "bad usage",
    3: "bad input",
    4: "a library is missing",
    5: "a file could not be read or written",
    6: "the log could not be reached",
    7: "the broker does not know these credentials",
    8: "the broker does not allow this",
    EXIT_DEFECT: "a defect of Quorate",
    EXIT_INTERRUPTED: "interrupted",
}


def exit_code_of(error: BaseException) -> int:
    """The exit code an error ends the command line with.

    >>> from quorate.errors import SlotError
    >>> exit_code_of(SlotError("slot 1 cannot be closed")), exit_code_of(FileNotFoundError())
    (3, 5)
    """
    match error:
        case MissingExtraError():
            return 4
        case CredentialsError():
            return 7
        case RefusedError():
            return 8
        case LogError():
            return 6
        case EndedError():
            return error.code or 6  # who was told to stop, by somebody else, has not failed by itself
        case QuorateError():
            return 3
        case OSError():
            return 5
        case _:
            return EXIT_DEFECT
