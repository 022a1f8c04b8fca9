"""A stock agent on the official A2A SDK: it answers every text with a text. It knows nothing of Semgate.

Usage: agent.py PORT
"""

import sys

import uvicorn
from a2a.helpers import new_text_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import a2a_pb2
from starlette.applications import Starlette

port = int(sys.argv[1])


class Greeter(AgentExecutor):
    async def execute(self, context, event_queue):
        await event_queue.enqueue_event(new_text_message(f'you wrote: {context.get_user_input()}', context_id=context.context_id))

    async def cancel(self, context, event_queue):
        raise NotImplementedError


card = a2a_pb2.AgentCard(
    name='Greeter',
    description='Answers every text',
    version='1.0.0',
    capabilities=a2a_pb2.AgentCapabilities(streaming=True),
    supported_interfaces=[
        a2a_pb2.AgentInterface(url=f'http://127.0.0.1:{port}/', protocol_binding='JSONRPC', protocol_version='1.0')
    ],
    default_input_modes=['text/plain'],
    default_output_modes=['text/plain'],
    skills=[a2a_pb2.AgentSkill(id='greet', name='Greet', description='Answers', tags=['text'])],
)
handler = DefaultRequestHandler(agent_executor=Greeter(), task_store=InMemoryTaskStore(), agent_card=card)
routes = create_jsonrpc_routes(handler, '/') + create_agent_card_routes(card)
uvicorn.run(Starlette(routes=routes), host='127.0.0.1', port=port, log_level='warning')
