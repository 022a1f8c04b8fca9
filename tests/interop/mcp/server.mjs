// A server on the official MCP SDK for the suite's server scenarios, in both versions: `PORT=… node server.mjs`.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, classifyInboundRequest, createMcpHandler, isInitializeRequest } from '@modelcontextprotocol/server';
import { addPromptsAndResources } from './said.mjs';
import { addTools, state } from './tools.mjs';

const port = Number(process.env.PORT);
const capabilities = { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true }, prompts: { listChanged: true }, logging: {}, completions: {} };
const sessions = new Map();

function made() {
    const server = new McpServer({ name: 'interop-server', version: '1.0.0' }, { capabilities, requestState: { verify: state.verify } });
    addTools(server, { sessions, changed: kind => stateless.notify[kind]() });
    addPromptsAndResources(server);
    return server;
}

const stateless = createMcpHandler(made);
const statelessly = toNodeHandler(stateless);

// What a stream said, so that who lost it can go on after its last event.
function remembered() {
    const events = [];
    return {
        async storeEvent(stream, message) {
            events.push({ stream, message });
            return `${stream}::${events.length}`;
        },
        async replayEventsAfter(last, { send }) {
            const [stream, n] = last.split('::');
            for (const [at, event] of events.entries()) {
                if (event.stream === stream && at >= Number(n) && Object.keys(event.message).length) await send(`${stream}::${at + 1}`, event.message);
            }
            return stream;
        }
    };
}

async function opened() {
    const transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        eventStore: remembered(),
        retryInterval: 1000,
        onsessioninitialized: id => sessions.set(id, transport)
    });
    transport.onclose = () => sessions.delete(transport.sessionId);
    await made().connect(transport);
    return transport;
}

function refuse(response, status, code, message) {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null }));
}

const isLocal = host => ['localhost', '127.0.0.1', '[::1]'].includes(host?.replace(/:\d+$/, ''));

async function serve(request, response) {
    const { host, origin, 'mcp-session-id': session } = request.headers;
    // DNS rebinding: a page of another site reaches this address under that site's name
    if (!isLocal(host) || (origin && !isLocal(URL.parse(origin)?.host))) return refuse(response, 403, -32000, 'forbidden');
    let body;
    if (request.method === 'POST') {
        try {
            body = JSON.parse(Buffer.concat(await request.toArray()).toString());
        } catch {
            return refuse(response, 400, -32700, 'parse error');
        }
        const inbound = classifyInboundRequest({
            httpMethod: 'POST',
            protocolVersionHeader: request.headers['mcp-protocol-version'],
            mcpMethodHeader: request.headers['mcp-method'],
            body
        });
        if (inbound.kind !== 'legacy') return statelessly(request, response, body);
    }
    const open = session ? sessions.get(session) : isInitializeRequest(body) && (await opened());
    if (!open) return session ? refuse(response, 404, -32001, 'session not found') : refuse(response, 400, -32000, 'session id required');
    return open.handleRequest(request, response, body);
}

createServer((request, response) => serve(request, response).catch(() => response.destroy())).listen(port, '127.0.0.1');
