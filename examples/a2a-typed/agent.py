"""An agent on the official A2A SDK that answers data with data. It names the task in its answers.

Usage: agent.py PORT
"""

import sys

import uvicorn
from a2a.helpers import new_data_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import a2a_pb2
from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette

port = int(sys.argv[1])


class Forecaster(AgentExecutor):
    async def execute(self, context, event_queue):
        asked = MessageToDict(context.message)['parts'][0]['data']
        celsius = 99 if asked['city'] == 'Porto' else 21
        answer = {'task': 'forecast', 'city': asked['city'], 'celsius': celsius}
        await event_queue.enqueue_event(new_data_message(answer, context_id=context.context_id))

    async def cancel(self, context, event_queue):
        raise NotImplementedError


card = a2a_pb2.AgentCard(
    name='Forecaster',
    description='Forecasts the weather',
    version='1.0.0',
    capabilities=a2a_pb2.AgentCapabilities(),
    supported_interfaces=[
        a2a_pb2.AgentInterface(url=f'http://127.0.0.1:{port}/', protocol_binding='JSONRPC', protocol_version='1.0')
    ],
    default_input_modes=['application/json'],
    default_output_modes=['application/json'],
    skills=[a2a_pb2.AgentSkill(id='forecast', name='Forecast', description='Forecasts', tags=['weather'])],
)
handler = DefaultRequestHandler(agent_executor=Forecaster(), task_store=InMemoryTaskStore(), agent_card=card)
routes = create_jsonrpc_routes(handler, '/') + create_agent_card_routes(card)
uvicorn.run(Starlette(routes=routes), host='127.0.0.1', port=port, log_level='warning')
