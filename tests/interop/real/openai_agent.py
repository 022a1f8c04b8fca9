"""An agent of `openai-agents`, unmodified, with a model that calls the tools of the plan one by one: `openai_agent.py < PLANS`."""

import json

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from plan import outcome, plain, run

set_tracing_disabled(True)


class Scripted(Model):
    """Calls one tool a turn and remembers what it was shown."""

    def __init__(self, calls):
        self.calls, self.turn, self.tools, self.shown = calls, 0, None, []

    async def get_response(self, system_instructions, input, model_settings, tools, *more, **others):
        self.tools = [[tool.name, tool.description, tool.params_json_schema] for tool in tools]
        if isinstance(input, list) and self.turn:
            self.shown.append(plain(input[-1]['output']))
        if self.turn < len(self.calls):
            call = self.calls[self.turn]
            words = json.dumps(call['arguments'])
            output = ResponseFunctionToolCall(type='function_call', call_id=f'call-{self.turn}', name=call['name'], arguments=words)
        else:
            text = ResponseOutputText(type='output_text', text='done', annotations=[])
            output = ResponseOutputMessage(id='m', type='message', role='assistant', status='completed', content=[text])
        self.turn += 1
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *more, **others):
        raise NotImplementedError


async def ended(agent, turns):
    return (await Runner.run(agent, 'go', max_turns=turns)).final_output


async def see(url, plan):
    model = Scripted(plan['calls'])
    async with MCPServerStreamableHttp({'url': url}, cache_tools_list=True) as server:
        agent = Agent(name='buyer', model=model, mcp_servers=[server])
        end = await outcome(ended(agent, len(plan['calls']) + 2))
        seen = {'tools': model.tools, 'calls': model.shown, 'end': end}
        seen['resources'] = await outcome(server.list_resources())
        seen['reads'] = [await outcome(server.read_resource(uri)) for uri in plan['reads']]
        seen['prompts'] = await outcome(server.list_prompts())
        seen['got'] = [await outcome(server.get_prompt(prompt['name'], prompt['arguments'])) for prompt in plan['prompts']]
    return seen


run(see)
