"""Whose word counts: chains of certificates under configured roots, by trust domain."""

from __future__ import annotations

import base64
import binascii
import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path

from cryptography import x509
from cryptography.x509 import verification
from cryptography.x509.oid import ExtendedKeyUsageOID, ObjectIdentifier

from .errors import Refused

AGENT = ExtendedKeyUsageOID.CLIENT_AUTH
SERVER = ExtendedKeyUsageOID.SERVER_AUTH
#: Signs context documents (docs/spec/certificates.md).
CONTEXT = ObjectIdentifier(
    "1.2.840.113556.1.8000.2554.6669.8090.15424.17331.34507.11738244.5310608.1"
)
_OURS = CONTEXT.dotted_string.rsplit(".", 1)[0] + "."

_MAX_CERTIFICATES = 4


class Trust:
    """Roots by trust domain, such as ``{"example.org": <PEM>}``. A chain counts only under the roots of its own trust domain."""

    def __init__(self, roots: Mapping[str, bytes]) -> None:
        self._roots = {domain: x509.load_pem_x509_certificates(pem) for domain, pem in roots.items()}

    @classmethod
    def load(cls, files: Mapping[str, str | Path]) -> Trust:
        """Reads one PEM file for each trust domain."""
        return cls({domain: Path(file).read_bytes() for domain, file in files.items()})

    def signer(
        self, x5c: Sequence[str], agent: str, usages: Sequence[ObjectIdentifier], now: int
    ) -> x509.Certificate:
        """The leaf of a chain that is valid now, has one of the usages, and names this SPIFFE id and no other URI."""
        roots = self._roots.get(trust_domain(agent))
        if roots is None:
            raise Refused("sender_mismatch", "no roots are configured for the trust domain")
        leaf = verify_chain(x5c, roots, usages, now)
        uris = _names(leaf).get_values_for_type(x509.UniformResourceIdentifier)
        if uris != [agent]:
            raise Refused("sender_mismatch", "the certificate names another agent")
        return leaf


def trust_domain(agent: str) -> str:
    """The trust domain of a SPIFFE id."""
    if not agent.startswith("spiffe://"):
        raise Refused("malformed", "not a SPIFFE id")
    domain, _, path = agent[len("spiffe://") :].partition("/")
    if not domain or not path:
        raise Refused("malformed", "not a SPIFFE id")
    return domain


def read_chain(x5c: Sequence[object]) -> list[x509.Certificate]:
    """The members of an ``x5c``: padded base64 of DER, leaf first."""
    if not 1 <= len(x5c) <= _MAX_CERTIFICATES:
        raise Refused("lock_mismatch", "not a chain of one to four certificates")
    chain = []
    for member in x5c:
        try:
            der = base64.b64decode(str(member), validate=True)
            chain.append(x509.load_der_x509_certificate(der))
        except (ValueError, binascii.Error):
            raise Refused("lock_mismatch", "a member of `x5c` is no certificate") from None
    return chain


def verify_chain(
    x5c: Sequence[object],
    roots: Sequence[x509.Certificate],
    usages: Sequence[ObjectIdentifier],
    now: int,
) -> x509.Certificate:
    """The leaf, if its chain ends at one of the roots, is valid at ``now`` and is for one of the usages.

    Path building, signatures, validity and name constraints are cryptography's; roles and usages are checked by the policies below.
    """
    leaf, *between = read_chain(x5c)
    when = datetime.datetime.fromtimestamp(now, datetime.timezone.utc).replace(tzinfo=None)

    def issuer_signs(_: verification.Policy, __: x509.Certificate, usage: x509.KeyUsage) -> None:
        if not usage.key_cert_sign:
            raise ValueError("an issuer that may not sign certificates")

    def issuer_serves(
        _: verification.Policy, __: x509.Certificate, usage: x509.ExtendedKeyUsage | None
    ) -> None:
        if usage is not None and not any(wanted in usage for wanted in usages):
            raise ValueError("an issuer for another usage")
        families = {oid.dotted_string.startswith(_OURS) for oid in usage or ()}
        if len(families) > 1:
            raise ValueError("an issuer for contexts and connections")

    def is_authority(_: verification.Policy, __: x509.Certificate, basic: x509.BasicConstraints) -> None:
        if not basic.ca:
            raise ValueError("an issuer that is no authority")

    def is_leaf(
        _: verification.Policy, __: x509.Certificate, basic: x509.BasicConstraints | None
    ) -> None:
        if basic is not None and basic.ca:
            raise ValueError("an authority in the place of a leaf")

    def leaf_serves(_: verification.Policy, __: x509.Certificate, usage: x509.ExtendedKeyUsage) -> None:
        if not any(wanted in usage for wanted in usages):
            raise ValueError("a leaf for another usage")
        ours = [oid for oid in usage if oid.dotted_string.startswith(_OURS)]
        if ours and len(list(usage)) != 1:
            raise ValueError("a leaf with another usage beside its one")

    agnostic, critical = verification.Criticality.AGNOSTIC, verification.Criticality.CRITICAL
    permit = verification.ExtensionPolicy.permit_all
    authority = (
        permit()
        .require_present(x509.BasicConstraints, critical, is_authority)
        .require_present(x509.KeyUsage, agnostic, issuer_signs)
        .may_be_present(x509.ExtendedKeyUsage, agnostic, issuer_serves)
    )
    end = (
        permit()
        .require_present(x509.SubjectAlternativeName, agnostic, None)
        .require_present(x509.ExtendedKeyUsage, agnostic, leaf_serves)
        .may_be_present(x509.BasicConstraints, agnostic, is_leaf)
    )
    builder = verification.PolicyBuilder().store(verification.Store(list(roots))).time(when)
    verifier = builder.extension_policies(ca_policy=authority, ee_policy=end).build_client_verifier()
    try:
        return verifier.verify(leaf, between).chain[0]
    except verification.VerificationError as error:
        raise Refused("lock_mismatch", "the chain of the signer does not hold") from error


def names(leaf: x509.Certificate) -> tuple[list[str], list[str]]:
    """DNS names and URIs of a leaf."""
    found = _names(leaf)
    return (
        found.get_values_for_type(x509.DNSName),
        found.get_values_for_type(x509.UniformResourceIdentifier),
    )


def _names(leaf: x509.Certificate) -> x509.SubjectAlternativeName:
    return leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
