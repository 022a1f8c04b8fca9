"""The official MCP SDK for Python as a client, unmodified, that answers what a server asks in a session of 2025-11-25: `mcp_session_client.py URL`.

Prints one JSON object: what the call of `ask` came to, the progress that it told, what was asked, and what was told on the stream of the session.
"""

import asyncio
import json
import sys

from mcp import Client
from mcp_types import CreateMessageResult, ElicitResult, TextContent


async def main(url):
    seen = {'progress': [], 'asked': [], 'told': []}
    changed = asyncio.Event()

    async def elicited(_, params):
        seen['asked'].append(params.message)
        return ElicitResult(action='accept', content={'yes': True})

    async def sampled(_, params):
        seen['asked'].append(params.messages[0].content.text)
        return CreateMessageResult(role='assistant', model='none', content=TextContent(type='text', text='seven'))

    async def progress(done, total, _):
        seen['progress'].append([done, total])

    async def told(message):
        seen['told'].append(getattr(message, 'method', type(message).__name__))
        if seen['told'][-1] == 'notifications/tools/list_changed':
            changed.set()

    answers = {'elicitation_callback': elicited, 'sampling_callback': sampled, 'message_handler': told}
    async with Client(url, mode='legacy', **answers) as client:
        await client.list_tools()
        for _ in range(2):  # the second comes after the change, and nothing was listed since
            result = await client.call_tool('ask', {'times': 2}, progress_callback=progress)
            seen.setdefault('calls', []).append(result.structured_content)
            await asyncio.wait_for(changed.wait(), 30)
            changed.clear()  # each call is told of its own change: the stream must not be left before the last is heard
    print(json.dumps(seen))


asyncio.run(main(sys.argv[1]))
