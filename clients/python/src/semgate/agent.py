"""Who we are: a certificate chain and its key."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from joserfc.jwk import ECKey

from .certificates import names
from .encoding import Json
from .errors import Refused
from .signing import Signed, sign


class Agent:
    """An agent's key with its certificates, and the one SPIFFE id that they prove."""

    def __init__(self, key_pem: bytes, x5c: Sequence[str], agent: str) -> None:
        self._key = ECKey.import_key(key_pem)
        self.x5c = tuple(x5c)
        self.id = agent

    @classmethod
    def load(cls, certificate: str | Path, key: str | Path) -> Agent:
        """Reads a PEM chain, leaf first, and its PKCS#8 key."""
        chain = x509.load_pem_x509_certificates(Path(certificate).read_bytes())
        x5c = [base64.b64encode(one.public_bytes(Encoding.DER)).decode("ascii") for one in chain]
        _, uris = names(chain[0])
        if len(uris) != 1:
            raise Refused("sender_mismatch", "the certificate does not name one agent")
        return cls(Path(key).read_bytes(), x5c, uris[0])

    def sign(self, payload: Json, typ: str) -> Signed:
        """Signs as this agent."""
        return sign(payload, typ, self._key, self.x5c)
