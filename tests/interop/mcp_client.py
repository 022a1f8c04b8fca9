"""The official MCP SDK for Python as a client, unmodified: `mcp_client.py URL MODE`, MODE `legacy`, `auto` or `2026-07-28`.

Prints one JSON object: the tools that its user is shown, and what each call of standard input (one JSON object a line:
{"name", "arguments"}) comes to.
"""

import asyncio
import json
import sys

from mcp import Client


async def main(url, mode):
    calls = [json.loads(line) for line in sys.stdin if line.strip()]
    async with Client(url, mode=mode) as client:
        shown = [tool.name for tool in (await client.list_tools()).tools]
        came = []
        for call in calls:
            try:
                result = await client.call_tool(call['name'], call['arguments'])
                came.append(result.structured_content)
            except Exception as error:  # what the SDK's user would catch
                came.append(str(error))
        print(json.dumps({'tools': shown, 'calls': came}))


asyncio.run(main(sys.argv[1], sys.argv[2]))
