// The official MCP SDK for JavaScript as a client, unmodified: `mcp_client.mjs URL MODE`, MODE `1` (the line 1 of the SDK), `legacy` or `auto`.
// Prints one JSON object: the tools that its user is shown, and what each call of standard input (one JSON object a line) comes to.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { text } from 'node:stream/consumers';

const [url, mode] = process.argv.slice(2);
const info = { name: 'interop-client', version: '1.0.0' };
const calls = (await text(process.stdin)).split('\n').filter(Boolean).map(line => JSON.parse(line));
const client = mode === '1' ? new Client1(info) : new Client(info, mode === 'auto' ? { versionNegotiation: { mode } } : {});
await client.connect(mode === '1' ? new Transport1(new URL(url)) : new StreamableHTTPClientTransport(new URL(url)));
const tools = (await client.listTools()).tools.map(tool => tool.name);
const came = [];
for (const call of calls) {
    // what the SDK's user would catch
    came.push(await client.callTool(call).then(result => result.isError ? result.content[0].text : result.structuredContent ?? null, error => error.message));
}
console.log(JSON.stringify({ tools, calls: came }));
await client.close();
