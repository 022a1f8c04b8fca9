"""The tools of `langchain-mcp-adapters`, unmodified, called as an agent calls them: `langchain_client.py < PLANS`."""

from langchain_mcp_adapters.client import MultiServerMCPClient
from plan import outcome, plain, run


async def see(url, plan):
    client = MultiServerMCPClient({'shop': {'transport': 'streamable_http', 'url': url}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    seen = {'tools': [[tool.name, tool.description, plain(tool.args_schema), plain(tool.metadata)] for tool in tools.values()]}
    called = []
    for number, call in enumerate(plan['calls']):
        words = {'type': 'tool_call', 'id': f'call-{number}', 'name': call['name'], 'args': call['arguments']}
        called.append(await outcome(tools[call['name']].ainvoke(words)))
    seen['calls'] = called
    seen['reads'] = [await outcome(client.get_resources('shop', uris=[uri])) for uri in plan['reads']]
    seen['got'] = [await outcome(client.get_prompt('shop', prompt['name'], arguments=prompt['arguments'])) for prompt in plan['prompts']]
    return seen


run(see)
