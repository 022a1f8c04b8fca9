// A client on the official MCP SDK for the suite's client scenarios: `client.mjs URL`. The suite says in the environment which scenario and version.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { authorized } from './authorized.mjs';

const { MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_PROTOCOL_VERSION: version } = process.env;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const stateless = version === '2026-07-28';
const info = { name: 'interop-client', version: '1.0.0' };

// The suite's servers of these scenarios know no `server/discover`: what they would say to it is said here, on both sides of a comparison.
const UNDISCOVERED = ['sep-2322-client-request-state', 'http-standard-headers', 'http-custom-headers', 'http-invalid-tool-headers'];

async function discovering(input, init) {
    const asked = typeof init?.body === 'string' ? JSON.parse(init.body) : {};
    if (asked.method !== 'server/discover') return fetch(input, init);
    const capabilities = { tools: {}, resources: {}, prompts: {} };
    const result = { supportedVersions: [version], capabilities, _meta: { 'io.modelcontextprotocol/serverInfo': info } };
    return Response.json({ jsonrpc: '2.0', id: asked.id, result });
}

const CAPABILITIES = {
    'request-metadata': { roots: { listChanged: true }, sampling: {}, elicitation: {} },
    'sep-2322-client-request-state': { elicitation: {} },
    'elicitation-sep1034-client-defaults': { elicitation: { form: { applyDefaults: true } } }
};

const call = (client, name, args = {}) => client.callTool({ name, arguments: args }).catch(error => console.error(`${name}: ${error.message}`));

const ACTS = {
    tools_call: client => call(client, 'add_numbers', { a: 5, b: 3 }),
    'sse-retry': client => call(client, 'test_reconnection'),
    'elicitation-sep1034-client-defaults': client => call(client, 'test_client_elicitation_defaults'),
    'json-schema-2020-12-preservation': (client, tools) =>
        call(client, 'json_schema_echo', { schema: tools.find(tool => tool.name === 'json_schema_2020_12_tool').inputSchema }),
    'sep-2322-client-request-state': async client => {
        for (const name of ['echo_state', 'no_state', 'unrelated', 'no_result_type']) await call(client, `test_mrtr_${name}`);
    },
    'http-custom-headers': async client => {
        for (const one of context.toolCalls ?? []) await call(client, one.name, one.arguments);
    },
    'http-invalid-tool-headers': async (client, tools) => {
        for (const tool of tools) await call(client, tool.name, { region: 'us-west1' });
    },
    'http-standard-headers': async (client, tools) => {
        await call(client, tools[0].name);
        const { resources } = await client.listResources();
        await client.readResource({ uri: resources[0].uri });
        const { prompts } = await client.listPrompts();
        await client.getPrompt({ name: prompts[0].name, arguments: {} });
    }
};

const options = { capabilities: CAPABILITIES[scenario] ?? {}, ...(stateless ? { versionNegotiation: { mode: 'auto' } } : {}) };
if (scenario.startsWith('auth/')) {
    await authorized(process.argv[2], scenario, context, info, options);
    process.exit(0);
}
const client = new Client(info, options);
if (options.capabilities.elicitation) {
    const content = scenario === 'sep-2322-client-request-state' ? { confirmed: true } : {};
    client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content }));
}
const over = new StreamableHTTPClientTransport(new URL(process.argv[2]), UNDISCOVERED.includes(scenario) ? { fetch: discovering } : {});
await client.connect(over);
if (scenario !== 'request-metadata') {
    const tools = scenario === 'sep-2322-client-request-state' ? [] : (await client.listTools()).tools;
    await ACTS[scenario]?.(client, tools);
}
await client.close();
