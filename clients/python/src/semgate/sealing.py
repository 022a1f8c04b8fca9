"""Sealing HELLO and SELECT to their receiver: HPKE (RFC 9180) with P-256, HKDF-SHA256, AES-128-GCM."""

from __future__ import annotations

import json
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from .certificates import AGENT, SERVER, Trust
from .encoding import Json, closed, digest, from_base64url, read_object, seconds, text, to_base64url
from .errors import Refused
from .signing import SKEW, Signed

_SUITE = hpke.Suite(hpke.KEM.P256, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM)
_POINT = 65
_PADDING = 1024
_MAX_BOX = 192 * 1024
_LONGEST = 2 * 86_400


def _info(kind: str) -> bytes:
    return f"semgate snl v1 {kind}".encode("ascii")


def _point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


class PeerKey:
    """A key-agreement key of another agent, stated by that agent's certificate key."""

    def __init__(self, agent: str, point: bytes) -> None:
        if len(point) != _POINT:
            raise Refused("lock_mismatch", "not a point of the curve P-256")
        try:
            self._key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
        except ValueError:
            raise Refused("lock_mismatch", "not a point of the curve P-256") from None
        self.agent = agent
        self.id = digest(point)

    @classmethod
    def stated(cls, statement: object, trust: Trust, now: int) -> PeerKey:
        """Takes a key statement, ``{"jws", "x5c"}``."""
        signed = Signed.of_json(statement)
        said = signed.verify("snl-key+jws", trust, [AGENT, SERVER], now, fresh=False)
        closed(said, {"from", "issued_at", "expires_at", "key"})
        issued, expires = seconds(said, "issued_at"), seconds(said, "expires_at")
        if issued > now + SKEW or expires <= now:
            raise Refused("replayed", "the statement of the key is over, or of the future")
        if expires > issued + _LONGEST:
            raise Refused("lock_mismatch", "the statement of the key lives too long")
        return cls(said["from"], from_base64url(text(said, "key")))

    def seal(self, kind: str, signed: Signed) -> Json:
        """``{"key", "box"}``."""
        plain = json.dumps(signed.to_json(), separators=(",", ":")).encode("ascii")
        plain += b" " * (-len(plain) % _PADDING)
        return {"key": self.id, "box": to_base64url(_SUITE.encrypt(plain, self._key, _info(kind)))}


class SealingKey:
    """A key-agreement key of our own, for one handshake."""

    def __init__(self, private: ec.EllipticCurvePrivateKey | None = None) -> None:
        self._key = private or ec.generate_private_key(ec.SECP256R1())
        self.point = _point(self._key.public_key())
        self.id = digest(self.point)

    def open(self, kind: str, sealed: Any) -> Signed:
        """Opens a box. What is inside is signed, and not believed yet."""
        members = closed(sealed, {"key", "box"})
        if members["key"] != self.id:
            raise Refused("lock_mismatch", "sealed to another key")
        try:
            plain = _SUITE.decrypt(from_base64url(text(members, "box", _MAX_BOX)), self._key, _info(kind))
        except (InvalidTag, ValueError):
            raise Refused("lock_mismatch", "the sealed message does not open") from None
        return Signed.of_json(read_object(plain))
