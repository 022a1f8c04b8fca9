"""Signed contexts: what may be said, verified before it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey

from .certificates import CONTEXT, names, verify_chain
from .encoding import Json, closed, digest, from_base64url, read_object
from .errors import Refused
from .handshake import Offer
from .signing import closed_header, thumbprint

_MAX_BYTES = 256 * 1024


@dataclass(frozen=True)
class SignedContext:
    """A context whose signature was verified. That its authority published it, and has not revoked it, is a question of its own."""

    urn: str
    digest: str
    document: Json

    def offer(self, features: Sequence[str] = (), models: Sequence[str] = ()) -> Offer:
        """For a HELLO, with the embedding models that this side speaks."""
        if models:
            return Offer.with_models(self.urn, self.digest, models, features)
        return Offer(self.urn, self.digest, tuple(features))


def verify_context(data: bytes, roots_pem: bytes, at: int, prefix: str = "urn:contexts") -> SignedContext:
    """Verifies a signed context (``docs/spec/signed-context.md``) under the authority's roots, at the time when it was published."""
    try:
        return _verify(data, x509.load_pem_x509_certificates(roots_pem), at, prefix)
    except Refused as fault:
        raise Refused("context_untrusted", fault.reason) from fault


def _verify(data: bytes, roots: Sequence[x509.Certificate], at: int, prefix: str) -> SignedContext:
    if len(data) > _MAX_BYTES:
        raise Refused("too_large", "longer than any signed context")
    general = closed(read_object(data), {"payload", "signatures"})
    signatures = general["signatures"]
    if not isinstance(signatures, list) or len(signatures) != 1:
        raise Refused("malformed", "not exactly one signature")
    one = closed(signatures[0], {"header", "protected", "signature"})
    x5c = closed(one["header"], {"x5c"})["x5c"]
    if not isinstance(x5c, list):
        raise Refused("malformed", "`x5c` is no list")
    header = closed_header(from_base64url(str(one["protected"])), "context+jws")
    if header["x5t#S256"] != thumbprint(x5c):
        raise Refused("malformed", "the header names another certificate")
    leaf = verify_chain(x5c, roots, [CONTEXT], at)
    key = leaf.public_key()
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise Refused("malformed", "the key of the signer is not of the curve P-256")
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    # the compact form has the same signing input, and joserfc wants no unprotected header there
    compact = f"{one['protected']}.{general['payload']}.{one['signature']}"
    registry = jws.JWSRegistry(algorithms=["ES256"], strict_check_header=False)
    registry.max_payload_length = _MAX_BYTES
    try:
        payload = jws.deserialize_compact(compact, ECKey.import_key(pem), registry=registry).payload
    except (JoseError, ValueError):
        raise Refused("malformed", "the signature does not hold") from None
    document = read_object(payload)
    urn = document.get("context")
    if not isinstance(urn, str) or not urn.startswith(prefix + ":"):
        raise Refused("malformed", "the document names no context")
    line = Offer(urn, digest(payload)).line
    dns, uris = names(leaf)
    reversed_line = ".".join(reversed(line.lower().split("."))) + ".contexts.invalid"
    if reversed_line not in dns or f"{prefix}:{line}" not in uris:
        raise Refused("malformed", "the signer does not speak for this line")
    return SignedContext(urn, digest(payload), document)
