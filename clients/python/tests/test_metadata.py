import pytest

from semgate import A2A_EXTENSION, MCP_META, Session, claim

SESSION = Session("urn:contexts:payment:v1.1", "sha-256:" + "0" * 64, "v1.x", 1)


def test_the_claim_has_only_what_is_said() -> None:
    assert claim("urn:contexts:payment:v1.1") == {"context": "urn:contexts:payment:v1.1"}
    assert SESSION.claim("INFORM") == {
        "context": SESSION.urn, "digest": SESSION.digest, "lock": "v1.x", "performative": "INFORM",
    }


def test_a_message_of_a2a_sdk_is_marked() -> None:
    types = pytest.importorskip("a2a.types")
    message = types.Message(message_id="m-1", role="ROLE_USER")
    SESSION.mark(message)
    SESSION.mark(message)
    assert list(message.extensions) == [A2A_EXTENSION]
    assert dict(message.metadata[A2A_EXTENSION])["lock"] == "v1.x"


def test_the_meta_of_mcp() -> None:
    assert SESSION.mcp_meta() == {MCP_META: SESSION.claim()}
