// The tools that the suite's server scenarios call by name.
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CLIENT_CAPABILITIES_META_KEY, acceptedContent, createRequestStateCodec, fromJsonSchema, inputRequired } from '@modelcontextprotocol/server';
import * as z from 'zod/v4';

// One red dot, and a sound of no length.
export const IMAGE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const SOUND = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';

// What a client brings back unseen is sealed, since the server keeps nothing between the rounds.
export const state = createRequestStateCodec({ key: randomBytes(32) });

const told = text => ({ content: [{ type: 'text', text }] });
const image = { type: 'image', data: IMAGE, mimeType: 'image/png' };
const resource = (uri, mimeType, text) => ({ type: 'resource', resource: { uri, mimeType, text } });
const form = properties => ({ type: 'object', properties, required: Object.keys(properties) });

export const asksFor = (name, type = 'string') => inputRequired.elicit({ message: `Please give the ${name}`, requestedSchema: form({ [name]: { type } }) });
const asksModel = text => inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens: 100 });

// Every kind of member with its default (SEP-1034), and every way to write a choice (SEP-1330).
const DEFAULTS = {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true }
};
const titled = [1, 2, 3].map(n => ({ const: `value${n}`, title: `Choice ${n}` }));
const CHOICES = {
    untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    titledSingle: { type: 'string', oneOf: titled },
    legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
    untitledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
    titledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { anyOf: titled } }
};
const FULL_SCHEMA = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: { address: { $anchor: 'addressDef', type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } } },
    properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' }, contactMethod: { enum: ['phone', 'email'] }, phone: { type: 'string' }, email: { type: 'string' } },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false
};

export function addTools(server, { sessions, changed }) {
    const tool = (name, act, inputSchema = z.object({})) => server.registerTool(name, { description: `For the scenario of ${name}`, inputSchema }, act);
    tool('test_simple_text', async () => told('A simple text.'));
    tool('test_image_content', async () => ({ content: [image] }));
    tool('test_audio_content', async () => ({ content: [{ type: 'audio', data: SOUND, mimeType: 'audio/wav' }] }));
    tool('test_embedded_resource', async () => ({ content: [resource('test://embedded-resource', 'text/plain', 'Embedded.')] }));
    tool('test_multiple_content_types', async () => ({ content: [{ type: 'text', text: 'Several:' }, image, resource('test://mixed-content-resource', 'application/json', '{"test":"data"}')] }));
    tool('test_error_handling', async () => {
        throw new Error('This tool intentionally returns an error for testing');
    });
    tool('test_x_mcp_header', async ({ region }) => told(`region=${region}`), fromJsonSchema({
        type: 'object',
        properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, level: { type: 'integer' } }
    }));
    tool('json_schema_2020_12_tool', async args => told(JSON.stringify(args)), fromJsonSchema(FULL_SCHEMA));
    addStreaming(tool, sessions);
    addAsking(tool);
    addRounds(tool);
    for (const kind of ['tool', 'prompt']) {
        tool(`test_trigger_${kind}_change`, async () => {
            changed(`${kind}sChanged`);
            return told('changed');
        });
    }
}

function addStreaming(tool, sessions) {
    tool('test_tool_with_logging', async (_, { mcpReq }) => {
        for (const data of ['started', 'going on', 'done']) {
            await mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } });
            await sleep(20);
        }
        return told('logged');
    });
    tool('test_tool_with_progress', async (_, { mcpReq }) => {
        const progressToken = mcpReq._meta?.progressToken;
        for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
            await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
            await sleep(20);
        }
        return told(String(progressToken));
    });
    tool('test_reconnection', async (_, { mcpReq, sessionId }) => {
        sessions.get(sessionId)?.closeSSEStream(mcpReq.id);
        await sleep(100);
        return told('the stream was taken up again');
    });
    tool('test_streaming_elicitation', async () => told('a stream without requests'));
    tool('test_logging_tool', async (_, { mcpReq }) => {
        await mcpReq.log('info', 'only who named a level hears this');
        return told('logged');
    });
}

// 2025-11-25: the server asks while it answers.
function addAsking(tool) {
    const asks = (name, params, inputSchema) =>
        tool(name, async (args, { mcpReq }) => {
            const method = name === 'test_sampling' ? 'sampling/createMessage' : 'elicitation/create';
            const { action, content } = await mcpReq.send({ method, params: params(args) });
            return told(`action=${action}, content=${JSON.stringify(content ?? {})}`);
        }, inputSchema);
    const optional = properties => () => ({ message: 'Please fill in', requestedSchema: { type: 'object', properties, required: [] } });
    asks('test_sampling', ({ prompt }) => ({ messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 100 }), z.object({ prompt: z.string() }));
    asks('test_elicitation', ({ message }) => ({ message, requestedSchema: form({ response: { type: 'string' } }) }), z.object({ message: z.string() }));
    asks('test_elicitation_sep1034_defaults', optional(DEFAULTS));
    asks('test_elicitation_sep1330_enums', optional(CHOICES));
}

// 2026-07-28: the server answers that it needs something first.
function addRounds(tool) {
    const rounds = (name, act) => tool(`test_input_required_result_${name}`, (_, { mcpReq }) => act(mcpReq, mcpReq.inputResponses));
    const needs = async (inputRequests, sealed) => inputRequired({ inputRequests, ...(sealed ? { requestState: await state.mint({ ...sealed, nonce: randomUUID() }) } : {}) });
    rounds('elicitation', async (_, given) => {
        const name = acceptedContent(given, 'user_name')?.name;
        return typeof name === 'string' ? told(`Hello, ${name}!`) : needs({ user_name: asksFor('name') });
    });
    rounds('sampling', async (_, given) => (given?.capital_question ? told(JSON.stringify(given.capital_question)) : needs({ capital_question: asksModel('What is the capital of France?') })));
    rounds('list_roots', async (_, given) => (given?.client_roots?.roots ? told(`${given.client_roots.roots.length} roots`) : needs({ client_roots: inputRequired.listRoots() })));
    rounds('request_state', async (asked, given) => (acceptedContent(given, 'confirm') && asked.requestState() ? told('state-ok') : needs({ confirm: asksFor('ok', 'boolean') }, { round: 1 })));
    rounds('tampered_state', async (asked, given) => (acceptedContent(given, 'confirm') && asked.requestState() ? told('integrity-ok') : needs({ confirm: asksFor('ok', 'boolean') }, { round: 1 })));
    rounds('multiple_inputs', async (_, given) => {
        if (acceptedContent(given, 'user_name') && given.greeting && given.client_roots) return told('all three came');
        return needs({ user_name: asksFor('name'), greeting: asksModel('Greet'), client_roots: inputRequired.listRoots() }, { round: 1 });
    });
    rounds('multi_round', async asked => {
        const round = asked.requestState()?.round ?? 0;
        if (round === 2) return told('both rounds done');
        return needs({ [`step${round + 1}`]: asksFor(round ? 'color' : 'name') }, { round: round + 1 });
    });
    rounds('capabilities', async (asked, given) => {
        if (given) return told('what was asked for came');
        const can = asked.envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? {};
        const wanted = { ...(can.elicitation ? { user_name: asksFor('name') } : {}), ...(can.sampling ? { greeting: asksModel('Greet') } : {}), ...(can.roots ? { client_roots: inputRequired.listRoots() } : {}) };
        return Object.keys(wanted).length ? needs(wanted) : told('nothing can be asked');
    });
    tool('test_missing_capability', async (_, { mcpReq }) => (mcpReq.inputResponses?.answer ? told('sampled') : needs({ answer: asksModel('Say pong') })));
}
