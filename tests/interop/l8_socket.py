"""A caller of native L8 over WebSockets: python l8_socket.py URL STEPS

STEPS is a list of `["say", TEXT]`, `["padded", BLANKS, TEXT]`, `["pieces", [TEXT, ...]]` (one message in fragments), `["binary", TEXT]`, `["ping"]` (and its answer), `["hear", N]` and `["end"]`
(hears until the socket is closed). Prints what was heard as it comes, a line each, and then the close code, reason and extensions.
"""

import asyncio
import json
import sys

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

url, steps = sys.argv[1], json.loads(sys.argv[2])


async def play(socket):
    for step, *more in steps:
        if step == "say":
            await socket.send(more[0])
        elif step == "padded":
            await socket.send(" " * more[0] + more[1])
        elif step == "pieces":
            await socket.send(iter(more[0]))
        elif step == "ping":
            await (await socket.ping())
        elif step == "binary":
            await socket.send(more[0].encode())
        for _ in range(more[0] if step == "hear" else 1 << 30 if step == "end" else 0):
            print(json.dumps(await socket.recv()), flush=True)


async def main():
    # compression is offered, as this client does unless told otherwise
    async with connect(url, max_size=None, proxy=None) as socket:
        try:
            await play(socket)
            await socket.close()
        except ConnectionClosed:
            pass
        extensions = [type(extension).__name__ for extension in socket.protocol.extensions]
        print(json.dumps([socket.close_code, socket.close_reason, extensions]), flush=True)


asyncio.run(asyncio.wait_for(main(), 60))
