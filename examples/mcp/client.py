"""A stock client on the official MCP SDK.

Usage: client.py URL
"""

import asyncio
import sys

from mcp import Client


async def main(url):
    async with Client(url) as client:
        print([tool.name for tool in (await client.list_tools()).tools])
        result = await client.call_tool('add', {'a': 1, 'b': 2})
        print(result.structured_content)
        refused = await client.call_tool('add', {'a': 'one', 'b': 2})
        print(refused.is_error, refused.content[0].text)


asyncio.run(main(sys.argv[1]))
