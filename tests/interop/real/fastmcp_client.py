"""The client of FastMCP 3 or 4, unmodified: `fastmcp_client.py < PLANS`."""

from fastmcp import Client
from plan import outcome, plain, run


async def see(url, plan):
    seen = {'told': []}

    async def logged(message):
        seen['told'].append(['log', message.level, plain(message.data)])

    async def progress(done, total, message):
        seen['told'].append(['progress', done, total, message])

    async with Client(url, log_handler=logged, progress_handler=progress) as client:
        seen['tools'] = plain(await client.list_tools())
        seen['resources'] = await outcome(client.list_resources())
        seen['templates'] = await outcome(client.list_resource_templates())
        seen['prompts'] = await outcome(client.list_prompts())
        seen['calls'] = [await outcome(client.call_tool(call['name'], call['arguments'])) for call in plan['calls']]
        seen['reads'] = [await outcome(client.read_resource(uri)) for uri in plan['reads']]
        seen['got'] = [await outcome(client.get_prompt(prompt['name'], prompt['arguments'])) for prompt in plan['prompts']]
    return seen


run(see)
