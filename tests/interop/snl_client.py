"""HELLO to LOCK against an endpoint, by the Python client: prints the session as JSON.

    snl_client.py URL CERTIFICATE KEY ROOTS TRUST_DOMAIN TO CONTEXT DIGEST [sealed] [LINE=MINIMUM …] [embedding:MODEL …]

A URL of https is reached with the agent's certificate; with `sealed`, the key statement is read from URL first.
"""

import json
import sys
import time
import urllib.request

from semgate import A2A_EXTENSION, Agent, Minimum, Offer, PeerKey, Refused, Trust, shake_hands
from semgate.http import post, tls

url, certificate, key, roots, domain, to, urn, digest, *more = sys.argv[1:]
me = Agent.load(certificate, key)
trust = Trust.load({domain: roots})
context = tls(certificate, key, roots) if url.startswith("https") else None
seal_to = None
if "sealed" in more:
    with urllib.request.urlopen(url, context=context, timeout=10) as answer:
        seal_to = PeerKey.stated(json.load(answer), trust, int(time.time()))
minimums = [Minimum(*one.split("=")) for one in more if "=" in one]
models = [one.removeprefix("embedding:") for one in more if one.startswith("embedding:")]
offer = Offer.with_models(urn, digest, models)
try:
    session = shake_hands(
        me, to, [offer], post(url, context), trust, minimums=minimums, seconds=600, seal_to=seal_to
    )
except Refused as refused:
    print(json.dumps({"refused": refused.code}))
else:
    print(json.dumps({**session.l8_members(), "expires_at": session.expires_at, "model": session.model, "a2a": A2A_EXTENSION}))
