"""Posts a native L8 message and prints the events of the answer as httpx-sse reads them: python l8_events.py URL BODY"""

import json
import sys

import httpx
from httpx_sse import connect_sse

url, body = sys.argv[1:3]
headers = {"content-type": "application/json"}
with httpx.Client(timeout=60, trust_env=False) as client:
    with connect_sse(client, "POST", url, content=body, headers=headers) as source:
        source.response.raise_for_status()
        print(json.dumps([{"event": e.event, "data": json.loads(e.data)} for e in source.iter_sse()]))
