// The resources, prompts and lesser methods that the suite's server scenarios ask for by name.
import { ResourceTemplate, acceptedContent, inputRequired } from '@modelcontextprotocol/server';
import * as z from 'zod/v4';
import { IMAGE, asksFor } from './tools.mjs';

const user = content => ({ role: 'user', content });
const text = text => ({ type: 'text', text });

export function addPromptsAndResources(server) {
    const resource = (name, uri, contents) => server.registerResource(name, uri, { title: name, mimeType: 'text/plain' }, async at => ({ contents: [{ uri: at.href, ...contents }] }));
    resource('static-text', 'test://static-text', { mimeType: 'text/plain', text: 'A text that stays.' });
    resource('static-binary', 'test://static-binary', { mimeType: 'image/png', blob: IMAGE });
    resource('watched-resource', 'test://watched-resource', { mimeType: 'text/plain', text: 'Watched.' });
    server.registerResource('template', new ResourceTemplate('test://template/{id}/data', { list: undefined }), { mimeType: 'application/json' }, async (uri, { id }) => ({
        contents: [{ uri: uri.href, mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }]
    }));

    const prompt = (name, argsSchema, say) => server.registerPrompt(name, { title: name, description: `For the scenario of ${name}`, ...(argsSchema ? { argsSchema } : {}) }, say);
    prompt('test_simple_prompt', undefined, async () => ({ messages: [user(text('A simple prompt.'))] }));
    prompt('test_prompt_with_arguments', z.object({ arg1: z.string(), arg2: z.string() }), async ({ arg1, arg2 }) => ({ messages: [user(text(`arg1='${arg1}', arg2='${arg2}'`))] }));
    prompt('test_prompt_with_embedded_resource', z.object({ resourceUri: z.string() }), async ({ resourceUri }) => ({
        messages: [user({ type: 'resource', resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded.' } }), user(text('Read the resource above.'))]
    }));
    prompt('test_prompt_with_image', undefined, async () => ({ messages: [user({ type: 'image', data: IMAGE, mimeType: 'image/png' }), user(text('Look at the image above.'))] }));
    prompt('test_input_required_result_prompt', undefined, async context => {
        const said = acceptedContent(context.mcpReq.inputResponses, 'user_context')?.context;
        return said === undefined ? inputRequired({ inputRequests: { user_context: asksFor('context') } }) : { messages: [user(text(`The context is ${said}.`))] };
    });

    const none = async () => ({});
    for (const method of ['resources/subscribe', 'resources/unsubscribe', 'logging/setLevel']) server.server.setRequestHandler(method, none);
    server.server.setRequestHandler('completion/complete', async () => ({ completion: { values: [], total: 0, hasMore: false } }));
}
