"""Compact JWS as Semgate writes and reads it: a closed protected header, the chain beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ObjectIdentifier
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey

from .certificates import Trust, read_chain
from .encoding import Json, canonical, closed, digest, from_base64url, read_object, text, to_base64url
from .errors import Refused

#: Seconds for which a message is taken after it was issued.
WINDOW = 60
#: Seconds that another clock may be ahead.
SKEW = 10
_MAX_JWS = 48 * 1024
# joserfc warns of members that RFC 7515 does not know; ours are all of it.
_REGISTRY = jws.JWSRegistry(algorithms=["ES256"])


@dataclass(frozen=True)
class Signed:
    """A compact JWS and the chain of its signer. Nothing in it is believed yet."""

    jws: str
    x5c: tuple[str, ...]

    @property
    def digest(self) -> str:
        """By which later messages name this one."""
        return digest(self.jws.encode("ascii"))

    def to_json(self) -> Json:
        """``{"jws", "x5c"}``."""
        return {"jws": self.jws, "x5c": list(self.x5c)}

    @classmethod
    def of_json(cls, value: object) -> Signed:
        """Reads ``{"jws", "x5c"}``."""
        members = closed(value, {"jws", "x5c"})
        x5c = members["x5c"]
        if not isinstance(x5c, list) or not all(isinstance(one, str) for one in x5c):
            raise Refused("malformed", "member `x5c` is no list of texts")
        return cls(text(members, "jws", _MAX_JWS), tuple(x5c))

    def verify(
        self, typ: str, trust: Trust, usages: Sequence[ObjectIdentifier], now: int, *, fresh: bool = True
    ) -> Json:
        """The payload, if ``from`` signed it: form, signer, signature, time. ``fresh``: issued within the window."""
        parts = self.jws.split(".")
        if len(parts) != 3:
            raise Refused("lock_mismatch", "not a compact JWS")
        header = closed_header(from_base64url(parts[0]), typ)
        payload = from_base64url(parts[1])
        members = read_object(payload)
        if canonical(members) != payload:
            raise Refused("malformed", "the payload is not in canonical form")
        if not isinstance(members.get("from"), str):
            raise Refused("malformed", "the payload says not whom it is from")
        if header["x5t#S256"] != thumbprint(self.x5c):
            raise Refused("lock_mismatch", "the header names another certificate")
        leaf = trust.signer(self.x5c, members["from"], usages, now)
        key = leaf.public_key()
        if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
            raise Refused("lock_mismatch", "the key of the signer is not of the curve P-256")
        pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        try:
            jws.deserialize_compact(self.jws, ECKey.import_key(pem), registry=_REGISTRY)
        except (JoseError, ValueError):
            raise Refused("lock_mismatch", "the signature does not hold") from None
        if fresh:
            issued = members.get("issued_at")
            if isinstance(issued, bool) or not isinstance(issued, int):
                raise Refused("malformed", "member `issued_at` is no time")
            if not now - WINDOW <= issued <= now + SKEW:
                raise Refused("replayed", "issued too long ago, or in the future")
        return members


def closed_header(data: bytes, typ: str) -> Json:
    """The protected header, if it is one of ours for this type."""
    try:
        header = closed(read_object(data), {"alg", "kid", "typ", "x5t#S256"})
    except Refused as fault:
        raise Refused("lock_mismatch", "the protected header is not of the closed set") from fault
    if header["alg"] != "ES256" or header["typ"] != typ or header["kid"] != header["x5t#S256"]:
        raise Refused("lock_mismatch", "the protected header is for something else")
    return header


def thumbprint(x5c: Sequence[str]) -> str:
    """``x5t#S256`` of the leaf."""
    leaf = read_chain(x5c)[0]
    return to_base64url(hashlib.sha256(leaf.public_bytes(Encoding.DER)).digest())


def sign(payload: Json, typ: str, key: ECKey, x5c: Sequence[str]) -> Signed:
    """Signs the canonical form of a payload."""
    mark = thumbprint(x5c)
    header: dict[str, Any] = {"alg": "ES256", "kid": mark, "typ": typ, "x5t#S256": mark}
    return Signed(jws.serialize_compact(header, canonical(payload), key, registry=_REGISTRY), tuple(x5c))
