"""An agent that speaks native L8 over WebSockets: python l8_agent.py ANSWERS

ANSWERS maps the `message_id` of what comes to a list of texts to say; `{"binary": TEXT}` says it as a binary message. Prints its
port, and then a line with the path and `Semgate-Sender` of each socket.
"""

import asyncio
import json
import sys

from websockets.asyncio.server import serve

answers = json.loads(sys.argv[1])


async def speak(socket):
    request = socket.request
    print(request.path, request.headers.get("semgate-sender"), socket.protocol.extensions, flush=True)
    async for text in socket:
        for answer in answers.get(json.loads(text)["message_id"], []):
            await socket.send(answer["binary"].encode() if isinstance(answer, dict) else answer)


async def main():
    async with serve(speak, "127.0.0.1", 0, max_size=None) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.get_running_loop().create_future()


asyncio.run(main())
