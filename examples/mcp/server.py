"""A stock server on the official MCP SDK. It knows nothing of Semgate.

Usage: server.py PORT
"""

import sys

from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel

server = MCPServer('sums')


class Sum(BaseModel):
    sum: int


@server.tool(description='Adds two numbers.')
def add(a: int, b: int) -> Sum:
    return Sum(sum=a + b)


server.run(transport='streamable-http', host='127.0.0.1', port=int(sys.argv[1]))
