"""The session that a lock is about: what both agents compute from the handshake, byte for byte."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

from .encoding import to_base64url

_LOCK = re.compile(
    r"v1\.(?:0|[1-9][0-9]{0,15})-[0-9a-f]{8}\.(0|[1-9][0-9]{0,15})\.([A-Za-z0-9_-]{43})\.[A-Za-z0-9_-]{43}\Z"
)


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
    found = _LOCK.match(lock)
    return found[2] if found else None


def end_of(lock: str) -> int | None:
    """The second at which a lock says that it ends; gateways go by it. ``None`` for what is no lock."""
    found = _LOCK.match(lock)
    return int(found[1]) if found else None
