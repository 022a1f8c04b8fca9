"""The official A2A SDK as the client of a running gateway, unmodified but for the metadata that a message carries.

Called with the directory of `semgate up` and the name of an agent; plays each case of standard input (one JSON object a line:
{"case", "data", "metadata"?, "text"?}) and prints what the SDK shows its user, one JSON object a line.
"""

import asyncio
import json
import ssl
import sys
from pathlib import Path

import httpx
from a2a.client import ClientConfig
from a2a.client.client_factory import create_client
from a2a.helpers import new_data_message, new_text_message
from a2a.types.a2a_pb2 import Role, SendMessageRequest
from google.protobuf.json_format import MessageToDict


async def play(client, case):
    if 'text' in case:
        message = new_text_message(case['text'], role=Role.ROLE_USER)
    else:
        message = new_data_message(case['data'], role=Role.ROLE_USER)
    message.metadata.update(case.get('metadata', {}))
    try:
        async for event in client.send_message(SendMessageRequest(message=message)):
            return {'case': case['case'], 'shown': MessageToDict(event)}
    except Exception as error:  # what the SDK's user would catch
        return {'case': case['case'], 'error': type(error).__name__, 'text': str(error)}
    return {'case': case['case'], 'error': 'Nothing', 'text': 'the SDK yielded nothing'}


async def main():
    here, name = Path(sys.argv[1]), sys.argv[2]
    up = json.loads((here / 'up.json').read_text())
    agent = up['agents'][name]
    tls = ssl.create_default_context(cafile=here / up['roots'])
    tls.load_cert_chain(here / agent['cert'], here / agent['key'])
    async with httpx.AsyncClient(verify=tls, timeout=30) as http:
        client = await create_client(up['gateway']['a2a'], ClientConfig(httpx_client=http, streaming=False))
        for line in sys.stdin:
            print(json.dumps(await play(client, json.loads(line))), flush=True)


asyncio.run(main())
