"""Certificates as JSON documents, and back."""

from __future__ import annotations

import json
from typing import Any, Self

import msgspec

from quorate.errors import CertificateError

__all__ = ["Documented"]


class Documented(msgspec.Struct, frozen=True):
    """What every kind of certificate has in common: it can be given to others, who verify it.

    >>> Documented().document()
    {'schema': 1}
    """

    def document(self) -> dict[str, Any]:
        """Everything, as a JSON-able dict; `from_document` reads it."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        return {**built, "schema": 1}

    @classmethod
    def from_document(cls, document: Any) -> Self:
        """Read a certificate, to verify it."""
        if not isinstance(document, dict):
            what = f"it is of type {type(document).__name__}, not an object"
            raise CertificateError(f"this is no certificate: {what}; give what `document` or --certificate gave")
        try:
            if document.get("schema") != 1:
                raise CertificateError(f"a certificate of schema {document.get('schema')!r}; this version reads 1")
            return msgspec.convert(document, cls)
        except msgspec.ValidationError as error:
            raise CertificateError(f"this is no certificate: {error}") from None

    def to_json(self) -> str:
        """The document as text."""
        return json.dumps(self.document())
