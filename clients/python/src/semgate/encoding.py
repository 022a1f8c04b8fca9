"""Strict JSON, its canonical form, base64url, digests."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from typing import Any

from .errors import Refused

_BASE64URL = re.compile(r"[A-Za-z0-9_-]*\Z")
_DIGEST = re.compile(r"sha-256:[0-9a-f]{64}\Z")

Json = dict[str, Any]


def to_base64url(data: bytes) -> str:
    """Without padding, as JOSE writes it (RFC 7515 §2)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def from_base64url(text: str) -> bytes:
    """Takes the one spelling: no padding, no white space, unused bits zero."""
    if not _BASE64URL.match(text):
        raise Refused("malformed", "not base64url")
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (ValueError, binascii.Error):
        raise Refused("malformed", "not base64url") from None
    if to_base64url(data) != text:
        raise Refused("malformed", "not canonical base64url")
    return data


def digest(data: bytes) -> str:
    """``sha-256:`` and 64 lower-case hex digits."""
    return "sha-256:" + hashlib.sha256(data).hexdigest()


def is_digest(value: object) -> bool:
    """Whether it is the text of a digest."""
    return isinstance(value, str) and _DIGEST.match(value) is not None


def canonical(value: Any) -> bytes:
    """RFC 8785, for what handshakes hold: objects with ASCII names, arrays, strings, integers below 2^53."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("malformed", "a text is no Unicode") from None


def _once(pairs: list[tuple[str, Any]]) -> Json:
    members: Json = {}
    for name, value in pairs:
        if name in members:
            raise Refused("duplicate_key", "an object has one member twice")
        members[name] = value
    return members


def _no_constant(_: str) -> Any:
    raise Refused("malformed", "not a JSON number")


def read_object(data: bytes) -> Json:
    """Reads a JSON object; no member twice, no NaN, no byte-order mark, UTF-8 only."""
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        # also of a number with more digits than Python reads
        raise Refused("malformed", "not JSON") from None
    if not isinstance(value, dict):
        raise Refused("malformed", "no JSON object")
    return value


def closed(value: object, required: set[str], optional: frozenset[str] = frozenset()) -> Json:
    """The object, if it has exactly these members."""
    if not isinstance(value, dict) or not required <= value.keys() or not value.keys() <= required | optional:
        raise Refused("malformed", "a member is missing or not one of the format")
    return value


def text(members: Json, name: str, most: int = 2048) -> str:
    """A member that is a text of bounded length."""
    value = members[name]
    if not isinstance(value, str) or not 0 < len(value) <= most:
        raise Refused("malformed", f"member `{name}` is no text of its form")
    return value


def seconds(members: Json, name: str) -> int:
    """A member that is a time."""
    value = members[name]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise Refused("malformed", f"member `{name}` is no time")
    return value
