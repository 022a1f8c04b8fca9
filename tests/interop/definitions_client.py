"""The official MCP SDK for Python as the client of `semgate context serve-mcp`, unmodified: `definitions_client.py SEMGATE DIR MODE`.

The parameters of the server come from the Python client of Semgate. Prints one JSON object: protocol version, resources, tools, and what each
call of standard input (one JSON object a line: {"name", "arguments"} or {"read"}) comes to.
"""

import asyncio
import json
import sys

from mcp import Client

from semgate import Authority, mcp_server


async def main(semgate, directory, mode):
    calls = [json.loads(line) for line in sys.stdin if line.strip()]
    async with Client(mcp_server(Authority(dir=directory), program=semgate), mode=mode) as client:
        resources = (await client.list_resources()).resources
        tools = (await client.list_tools()).tools
        came = []
        for call in calls:
            try:
                if 'read' in call:
                    came.append((await client.read_resource(call['read'])).contents[0].text)
                    continue
                result = await client.call_tool(call['name'], call['arguments'])
                came.append({'error': result.is_error, **result.structured_content})
            except Exception as error:  # what the SDK's user would catch
                came.append(str(error))
        print(
            json.dumps(
                {
                    'version': client.protocol_version,
                    'resources': [str(one.uri) for one in resources],
                    'tools': [tool.name for tool in tools],
                    'read_only': all(tool.annotations.read_only_hint for tool in tools),
                    'came': came,
                }
            )
        )


asyncio.run(main(*sys.argv[1:]))
