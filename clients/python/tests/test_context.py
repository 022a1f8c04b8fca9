import base64
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from semgate import Refused, verify_context
from semgate.certificates import CONTEXT, verify_chain
from semgate.encoding import digest

from conftest import REPOSITORY

VECTORS = REPOSITORY / "authority/statement/vectors"
CHAINS = REPOSITORY / "certs/vectors"
AT = 1_780_272_000
PAYMENT = "sha-256:4b46fc37d96a2ac853e2d5808ee4ba700cf86ff8d68ad90a3c34ce1a611ee478"


def read(name: str) -> Any:
    return json.loads((VECTORS / name).read_text())


def roots() -> bytes:
    return (VECTORS / "root.pem").read_bytes()


def test_the_signed_context_of_the_vectors_verifies() -> None:
    context = verify_context((VECTORS / "context-1.jws.json").read_bytes(), roots(), AT)
    assert (context.urn, context.digest) == ("urn:contexts:payment:v1.1", PAYMENT)
    assert "transfer" in context.document["concepts"]
    assert context.offer().digest == PAYMENT


def test_a_changed_context_is_refused() -> None:
    good = read("context-1.jws.json")
    other = read("context-0.jws.json")
    changes = [
        {**good, "payload": other["payload"]},
        {**good, "signatures": []},
        {**good, "signatures": good["signatures"] * 2},
        {**good, "more": 1},
    ]
    signature = good["signatures"][0]
    changes.append({**good, "signatures": [{**signature, "header": {"x5c": signature["header"]["x5c"][:1]}}]})
    changes.append({**good, "signatures": [{**signature, "header": {**signature["header"], "alg": "none"}}]})
    for change in changes:
        with pytest.raises(Refused) as refused:
            verify_context(json.dumps(change).encode(), roots(), AT)
        assert refused.value.code == "context_untrusted"
    with pytest.raises(Refused):
        verify_context(json.dumps(good).encode(), roots(), AT + 200 * 86_400)
    with pytest.raises(Refused):
        verify_context(json.dumps(good).encode(), (CHAINS / "root.pem").read_bytes(), AT)


@pytest.mark.parametrize(
    ("name", "holds"), [("context", True), ("expired", False), ("not-delegated", False), ("status", False), ("agent", False)]
)
def test_chains_are_judged_as_the_specification_judges_them(name: str, holds: bool) -> None:
    chain = x509.load_pem_x509_certificates((CHAINS / f"{name}.pem").read_bytes())
    x5c = [base64.b64encode(one.public_bytes(_der())).decode() for one in chain]
    trusted = x509.load_pem_x509_certificates((CHAINS / "root.pem").read_bytes())
    if holds:
        verify_chain(x5c, trusted, [CONTEXT], 1_800_000_000)
    else:
        with pytest.raises(Refused):
            verify_chain(x5c, trusted, [CONTEXT], 1_800_000_000)


def _der() -> Any:
    from cryptography.hazmat.primitives.serialization import Encoding

    return Encoding.DER


def test_the_digest_is_of_the_exact_bytes() -> None:
    assert digest(b"abc") == "sha-256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert Path(VECTORS).exists()
