// The official MCP SDKs for JavaScript, both lines, as clients of `semgate context serve-mcp`, unmodified: `definitions_client.mjs SEMGATE DIR`.
// Prints one JSON object a line of the SDK: the resources, and the codes that New York may mean.
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/stdio.js';

const [command, dir] = process.argv.slice(2);
const info = { name: 'interop-client', version: '1.0.0' };
const server = { command, args: ['context', 'serve-mcp', '--dir', dir] };
const question = { context: 'travel:v2.1', parameter: 'dest_code', value: 'New York' };
for (const [client, transport] of [
    [new Client1(info), new Transport1(server)],
    [new Client(info, { versionNegotiation: { mode: 'auto' } }), new StdioClientTransport(server)],
]) {
    await client.connect(transport);
    const resources = (await client.listResources()).resources.map(resource => resource.uri);
    const result = await client.callTool({ name: 'resolve_ambiguity', arguments: question });
    console.log(JSON.stringify({ resources, options: result.structuredContent?.options ?? null }));
    await client.close();
}
