"""The official MCP SDK for Python as a client, unmodified: `mcp_client.py URL MODE [authorized]`, MODE `legacy`, `auto` or `2026-07-28`.

Prints one JSON object: the tools that its user is shown, and what each call of standard input (one JSON object a line:
{"name", "arguments"}) comes to. `authorized` gets itself a token where the server demands one.
"""

import asyncio
import json
import sys

from mcp import Client


async def main(url, mode):
    calls = [json.loads(line) for line in sys.stdin if line.strip()]
    server = url
    if 'authorized' in sys.argv:
        from mcp.client.streamable_http import streamable_http_client
        from mcp_authorization import authorized_client

        server = streamable_http_client(url, http_client=authorized_client(url))
    async with Client(server, mode=mode) as client:
        shown = [tool.name for tool in (await client.list_tools()).tools]
        came = []
        for call in calls:
            try:
                result = await client.call_tool(call['name'], call['arguments'])
                came.append(result.content[0].text if result.is_error else result.structured_content)
            except Exception as error:  # what the SDK's user would catch
                came.append(str(error))
        print(json.dumps({'tools': shown, 'calls': came}))


asyncio.run(main(sys.argv[1], sys.argv[2]))
