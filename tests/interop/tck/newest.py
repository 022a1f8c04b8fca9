"""The kit's own agent on the newest SDK, with push notifications.

The kit's agent was generated for a version of the SDK whose server classes are gone since. What it does with messages (its executor) is
taken from it unchanged; the server around it is the one of today. Run in the folder of the kit's `sut_agent.py`, with the same environment.
"""

import asyncio
import os
import sys
import types

import grpc.aio
import httpx
import uvicorn
from a2a.server.request_handlers import GrpcHandler, LegacyRequestHandler, default_request_handler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import BasePushNotificationSender, InMemoryPushNotificationConfigStore, InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentProvider, AgentSkill
from a2a.types import a2a_pb2_grpc
from starlette.applications import Starlette

REST = '/a2a/rest'


def executor():
    """The executor of the kit's agent, whose module names classes that are gone."""
    gone = types.ModuleType('a2a.server.apps')
    gone.A2ARESTFastAPIApplication = gone.A2AStarletteApplication = None
    sys.modules['a2a.server.apps'] = gone
    default_request_handler.DefaultRequestHandler = None
    sys.path.insert(0, os.getcwd())
    import sut_agent

    return sut_agent.TckAgentExecutor()


def card_of(host, grpc_port):
    interface = lambda url, binding: AgentInterface(url=url, protocol_binding=binding, protocol_version='1.0')
    return AgentCard(
        name='A2A Python SDK System Under Test (SUT)',
        description="The kit's agent on the newest SDK",
        version='1.0.0',
        provider=AgentProvider(organization='A2A Project', url='https://github.com/a2aproject'),
        supported_interfaces=[
            interface(f'http://{host}', 'JSONRPC'),
            interface(f'http://{host}{REST}', 'HTTP+JSON'),
            interface(f'{host.rsplit(":", 1)[0]}:{grpc_port}', 'GRPC'),
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=['text'],
        default_output_modes=['text'],
        skills=[AgentSkill(id='tck', name='TCK Conformance', description='Handles TCK conformance test messages', tags=['tck'])],
    )


async def allowed(_url):
    """The kit's own receiver listens on loopback, where the SDK sends nothing unless it is told to."""
    return True


async def main():
    host, grpc_port = os.environ['SUT_HOST'], os.environ['GRPC_PORT']
    card, configs = card_of(host, grpc_port), InMemoryPushNotificationConfigStore()
    sender = BasePushNotificationSender(httpx.AsyncClient(), configs, push_url_validator=allowed)
    handler = LegacyRequestHandler(
        executor(), InMemoryTaskStore(), card, push_config_store=configs, push_sender=sender, push_url_validator=allowed
    )
    routes = [
        *create_agent_card_routes(card),
        *create_rest_routes(handler, path_prefix=REST),
        *create_jsonrpc_routes(handler, '/'),
    ]
    rpc = grpc.aio.server()
    rpc.add_insecure_port(f'127.0.0.1:{grpc_port}')
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), rpc)
    await rpc.start()
    await uvicorn.Server(uvicorn.Config(Starlette(routes=routes), host='127.0.0.1', port=int(host.rsplit(':', 1)[1]))).serve()


asyncio.run(main())
