"""An agent of `pydantic-ai`, unmodified, with a model that calls the tools of the plan one by one: `pydantic_agent.py < PLANS`."""

from plan import outcome, plain, run
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel


async def see(url, plan):
    seen = {}

    def model(messages, info):
        seen['tools'] = [[tool.name, tool.description, tool.parameters_json_schema] for tool in info.function_tools]
        turn = sum(isinstance(message, ModelResponse) for message in messages)
        if turn < len(plan['calls']):
            call = plan['calls'][turn]
            return ModelResponse(parts=[ToolCallPart(call['name'], call['arguments'])])
        return ModelResponse(parts=[TextPart('done')])

    async with MCPToolset(url, max_retries=3) as toolset:
        agent = Agent(FunctionModel(model), toolsets=[toolset])
        try:
            done = await agent.run('go')
            seen['calls'] = [
                [part.part_kind, plain(part.content)]
                for message in done.all_messages()
                if isinstance(message, ModelRequest)
                for part in message.parts
                if part.part_kind in ('tool-return', 'retry-prompt')
            ]
        except Exception as error:
            seen['calls'] = [type(error).__name__, str(error)]
        seen['resources'] = await outcome(toolset.list_resources())
        seen['templates'] = await outcome(toolset.list_resource_templates())
        seen['prompts'] = await outcome(toolset.list_prompts())
        seen['reads'] = [await outcome(toolset.read_resource(uri)) for uri in plan['reads']]
        seen['got'] = [await outcome(toolset.get_prompt(prompt['name'], prompt['arguments'])) for prompt in plan['prompts']]
    return seen


run(see)
