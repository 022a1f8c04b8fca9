"""The client of `ldp-protocol`, unmodified: python ldp_client.py URL OPTIONS

Reads steps from standard input, one JSON object a line, and prints what its user is shown, a line each. OPTIONS is one JSON
object: `id`, `secret`, `domain`, `peers`, `modes`, `ttl`, `enforce`.
"""

import asyncio
import json
import sys

import httpx
from ldp_protocol import LdpClient, LdpSession, TrustDomain
from ldp_protocol.types.messages import LdpEnvelope, LdpMessageBody
from ldp_protocol.types.payload import PayloadMode
from ldp_protocol.types.session import SessionConfig

url, options = sys.argv[1], json.loads(sys.argv[2])


class Driver:
    def __init__(self, client):
        self.client = client
        self.session = None
        self.task = None

    async def discover(self, step):
        return (await self.client.discover(url)).model_dump(mode="json")

    async def wellknown(self, step):
        return (await self.client.discover_wellknown(url)).model_dump(mode="json")

    async def fetch(self, step):
        async with httpx.AsyncClient() as http:
            answer = await http.get(url + step["path"])
            return {"status": answer.status_code, "body": answer.json()}

    async def establish(self, step):
        self.session = await self.client.establish_session(url)
        return self.opened()

    def opened(self):
        return {
            "session": self.session.session_id,
            "delegate": self.session.remote_delegate_id,
            "mode": self.session.payload.mode.value,
            "domain": self.session.trust_domain.name,
        }

    async def propose(self, step):
        """A session with members of the caller's own, by public API alone."""
        body = LdpMessageBody.session_propose(config=step["config"])
        answer = await self.send(body, session=step.get("session", "mine"), to=url, mode=PayloadMode.TEXT)
        if answer.body.type != "SESSION_ACCEPT":
            return answer.model_dump(by_alias=True, mode="json")
        card = await self.client.discover(url)
        self.session = LdpSession(
            session_id=answer.body.session_id,
            remote_url=url,
            remote_delegate_id=card.delegate_id,
            trust_domain=card.trust_domain,
        )
        self.session.payload.mode = answer.body.negotiated_mode
        return self.opened()

    async def send(self, body, session=None, to=None, mode=None):
        envelope = LdpEnvelope.create(
            session_id=self.session.session_id if session is None else session,
            from_id=self.client.delegate_id,
            to_id=self.session.remote_delegate_id if to is None else to,
            body=body,
            payload_mode=(self.session.payload.mode if self.session else PayloadMode.TEXT) if mode is None else mode,
        )
        return await self.client.send_message(url, envelope)

    async def submit(self, step):
        result = await self.client.submit_task(
            url, skill=step["skill"], input_data=step["input"], session=self.session
        )
        self.task = result["task_id"]
        # as JSON shows it
        return json.loads(json.dumps(result, default=str))

    async def body(self, step):
        """Any message body, sent as the client sends its own. `task` is that of the last submission."""
        members = {**step["body"]}
        if members.pop("this_task", False):
            members["task_id"] = self.task
        mode = PayloadMode(step["mode"]) if "mode" in step else None
        answer = await self.send(LdpMessageBody(**members), step.get("session"), step.get("to"), mode)
        return answer.model_dump(by_alias=True, mode="json")

    async def forget(self, step):
        self.session = None
        self.client._sessions.clear()
        return {}


async def main():
    domain = TrustDomain(
        name=options.get("domain", "default"),
        allow_cross_domain=bool(options.get("peers")),
        trusted_peers=options.get("peers", []),
    )
    config = SessionConfig(ttl_secs=options.get("ttl", 3600))
    if "modes" in options:
        config.preferred_payload_modes = [PayloadMode(mode) for mode in options["modes"]]
    client = LdpClient(
        delegate_id=options.get("id", "ldp:client:router"),
        config=config,
        timeout=options.get("timeout", 30.0),
        trust_domain=domain,
        enforce_trust_domains=options.get("enforce", True),
        signing_secret=options.get("secret"),
    )
    async with client:
        driver = Driver(client)
        for line in iter(sys.stdin.readline, ""):
            step = json.loads(line)
            try:
                shown = await getattr(driver, step["do"])(step)
            except Exception as error:  # what its user would see
                shown = {"raised": f"{type(error).__name__}: {error}"}
                if isinstance(error, httpx.HTTPStatusError):
                    shown["body"] = error.response.json()
            print(json.dumps(shown), flush=True)


asyncio.run(main())
