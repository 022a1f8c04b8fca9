"""A stock client on the official A2A SDK, with a client certificate.

Usage: client.py GATEWAY DIRECTORY TEXT
"""

import asyncio
import ssl
import sys

import httpx
from a2a.client import ClientConfig
from a2a.client.client_factory import create_client
from a2a.helpers import get_message_text, new_text_message
from a2a.types.a2a_pb2 import Role, SendMessageRequest


async def main(gateway, directory, text):
    tls = ssl.create_default_context(cafile=f'{directory}/roots.pem')
    tls.load_cert_chain(f'{directory}/agents/client-1.pem', f'{directory}/agents/client-1.key')
    async with httpx.AsyncClient(verify=tls, timeout=30) as http:
        client = await create_client(gateway, ClientConfig(httpx_client=http, streaming=False))
        request = SendMessageRequest(message=new_text_message(text, role=Role.ROLE_USER))
        async for event in client.send_message(request):
            print(get_message_text(event.message))


asyncio.run(main(*sys.argv[1:]))
