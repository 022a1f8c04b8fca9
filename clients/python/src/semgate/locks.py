"""The session that a lock is about: what both agents compute from the handshake, byte for byte."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

from .encoding import from_base64url, to_base64url

_KEY = r"(?:0|[1-9][0-9]{0,15})-[0-9a-f]{8}"
_END = r"(0|[1-9][0-9]{0,15})"
_BYTES = r"[A-Za-z0-9_-]{43}"
#: A lock whose session chose no embedding model, and one whose session chose one.
_LOCK = re.compile(rf"v1\.{_KEY}\.{_END}\.({_BYTES})\.{_BYTES}\Z")
_LOCK_WITH_MODEL = re.compile(rf"v2\.{_KEY}\.{_END}\.({_BYTES})\.([A-Za-z0-9_-]{{2,72}})\.{_BYTES}\Z")


def _part(data: bytes) -> bytes:
    return len(data).to_bytes(8, "big") + data


def _count(things: Sequence[object]) -> bytes:
    return _part(len(things).to_bytes(8, "big"))


def session(
    features: Sequence[str], minimums: Iterable[Sequence[tuple[str, str]]], messages: Iterable[str]
) -> str:
    """Digest over the features of the choice, the minimums of initiator and responder, and HELLO, SELECT and LOCK as they were signed."""
    said = (_part(jws.encode("ascii")) for jws in messages)
    transcript = hashlib.sha256(_part(b"semgate transcript v1") + b"".join(said)).digest()
    body = _part(b"semgate session v1") + _count(features)
    body += b"".join(_part(feature.encode("ascii")) for feature in features)
    for stated in minimums:
        body += _count(stated)
        body += b"".join(_part(line.encode("ascii")) + _part(low.encode("ascii")) for line, low in stated)
    return to_base64url(hashlib.sha256(body + _part(transcript)).digest())


def session_of(lock: str) -> str | None:
    """What a lock says that it is about. Only who has the fleet's secret can verify it. ``None`` for what is no lock."""
    found = _read(lock)
    return found[2] if found else None


def end_of(lock: str) -> int | None:
    """The second at which a lock says that it ends; gateways go by it. ``None`` for what is no lock."""
    found = _read(lock)
    return int(found[1]) if found else None


def model_of(lock: str) -> str | None:
    """The embedding model that a lock says that its session chose; gateways refuse vectors of another. ``None`` without one."""
    found = _LOCK_WITH_MODEL.match(lock)
    return from_base64url(found[3]).decode("ascii", "replace") if found else None


def _read(lock: str) -> re.Match[str] | None:
    return _LOCK.match(lock) or _LOCK_WITH_MODEL.match(lock)
