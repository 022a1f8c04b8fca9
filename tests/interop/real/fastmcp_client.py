"""The client of FastMCP 3 or 4, unmodified: `fastmcp_client.py < PLANS`."""

from fastmcp import Client
from plan import outcome, plain, run


async def see(url, plan):
    seen = {'told': []}

    async def logged(message):
        seen['told'].append(['log', message.level, plain(message.data)])

    async def progress(done, total, message):
        seen['told'].append(['progress', done, total, message])

    async def elicited(message, response_type, params, context):
        form = plain(params)['requestedSchema']
        seen['told'].append(['elicit', message, form])
        return {'sure': True} if 'sure' in form['properties'] else {'name': 'Ann', 'check': True}

    async def sampled(messages, params, context):
        seen['told'].append(['sample', plain(messages), plain(params)['systemPrompt']])
        return 'honey'

    answers = {'elicitation_handler': elicited, 'sampling_handler': sampled, 'roots': ['file:///shop']}
    async with Client(url, log_handler=logged, progress_handler=progress, **answers) as client:
        seen['tools'] = plain(await client.list_tools())
        seen['resources'] = await outcome(client.list_resources())
        seen['templates'] = await outcome(client.list_resource_templates())
        seen['prompts'] = await outcome(client.list_prompts())
        seen['calls'] = [await outcome(client.call_tool(call['name'], call['arguments'])) for call in plan['calls'] + plan['asking']]
        seen['reads'] = [await outcome(client.read_resource(uri)) for uri in plan['reads']]
        seen['got'] = [await outcome(client.get_prompt(prompt['name'], prompt['arguments'])) for prompt in plan['prompts']]
    seen['told'].sort(key=str)  # two streams come in no order
    return seen


run(see)
