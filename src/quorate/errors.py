"""Every error Quorate raises, and whose fault it is.

::

    QuorateError                     (never raised itself)
    ├── LocalError (ValueError)      misuse by the caller: mend the call
    │   ├── VotesError               votes of the wrong length or value
    │   ├── LabelError               a label that is neither -1 nor +1
    │   ├── SlotError                a slot that goes backwards or is no slot number
    │   ├── MembersError             member names that are missing, repeated or malformed
    │   ├── ModelError               a model that cannot vote or learn as asked
    │   ├── SourceError              a file that cannot be read as a stream, with the line where it is at fault
    │   ├── SnapshotError            a snapshot of another version, damaged or incomplete
    │   └── CertificateError         a certificate that does not follow, or is about other data
    ├── RemoteError (ValueError)     a message from elsewhere is at fault: its sender must mend it
    │   ├── MessageError             not decodable, or its fields cannot be true
    │   └── StrangerError            it names a learner that is not a member
    ├── LogError (RuntimeError)      the log refused, was not reached, or has lost what was asked for
    │   ├── CredentialsError         the broker does not know us: waiting does not mend it
    │   └── RefusedError             the broker knows us, and does not allow this
    ├── EndedError (RuntimeError)    a learner's process, started for it, has given up
    ├── MissingExtraError (ImportError)   an optional library is not installed
    └── CheckFailedError (AssertionError) a rule breaks the conventions `check_rule` tests

A ``RemoteError`` is never a reason for the receiver to stop: whoever raised it left the state as it was.
"""

from __future__ import annotations

__all__ = [
    "CertificateError",
    "CheckFailedError",
    "CredentialsError",
    "EndedError",
    "LabelError",
    "LocalError",
    "LogError",
    "MembersError",
    "MessageError",
    "MissingExtraError",
    "ModelError",
    "QuorateError",
    "RefusedError",
    "RemoteError",
    "SlotError",
    "SnapshotError",
    "SourceError",
    "StrangerError",
    "VotesError",
]


class QuorateError(Exception):
    """The common ancestor of every error of Quorate, for a caller who wants to catch them all."""


class LocalError(QuorateError, ValueError):
    """The caller misused Quorate; nothing was changed."""


class VotesError(LocalError):
    """Votes have the wrong length or shape, or hold something other than -1, 0 and +1."""


class LabelError(LocalError):
    """A label is neither -1 nor +1."""


class SlotError(LocalError):
    """A slot goes backwards, or is not an integer from 0 to 2**63 - 1."""


class MembersError(LocalError):
    """Member names are missing, repeated or malformed, or views name no member."""


class ModelError(LocalError):
    """A model cannot vote or learn as asked."""


class SourceError(LocalError):
    """A file cannot be read as a stream; the message names the file, the line where there is one, and the reason."""


class SnapshotError(LocalError):
    """A snapshot is of another version, incomplete or damaged."""


class CertificateError(LocalError):
    """A certificate does not follow from what it holds, or is about other votes and labels."""


class RemoteError(QuorateError, ValueError):
    """Something that came from another learner is at fault; nothing was changed."""


class MessageError(RemoteError):
    """A message cannot be decoded, or its fields cannot be true."""


class StrangerError(RemoteError):
    """A message names a learner that is not a member of the ensemble."""


class LogError(QuorateError, RuntimeError):
    """The log refused, could not be reached, or no longer has what was asked for; the message says what to do."""


class CredentialsError(LogError):
    """The broker does not know us; the message says which credentials were shown, and what to do."""


class RefusedError(LogError):
    """The broker knows us and does not allow this; the message says what, and whom to ask."""


class EndedError(QuorateError, RuntimeError):
    """A process that was started for a learner has ended by itself; the message has its last words.

    Parameters
    ----------
    what
        The message.
    code
        Its exit code.
    """

    def __init__(self, what: str, code: int) -> None:
        super().__init__(what)
        self.code = code


class MissingExtraError(QuorateError, ImportError):
    """An optional library is not installed; the message names the extra that brings it."""


class CheckFailedError(QuorateError, AssertionError):
    """A rule breaks one of the conventions that `quorate.rules.check_rule` tests."""
