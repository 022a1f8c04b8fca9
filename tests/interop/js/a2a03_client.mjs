// The conversation of a2a_client.mjs on the last SDK for JavaScript that spoke A2A 0.3, unmodified.
//
//     node a2a03_client.mjs URL JSONRPC [DIRECTORY AGENT]

import { randomUUID } from 'node:crypto';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, ServiceParameters, withA2AExtensions } from 'a2a-js-sdk-03/client';
import { fetchAs, identity, play, show } from './shown.mjs';

const EXTENSION = 'urn:contexts:snl:v1.0';
const [url, , directory, name] = process.argv.slice(2);
const fetchImpl = fetchAs(identity(directory, name));
const factory = new ClientFactory({ transports: [new JsonRpcTransportFactory({ fetchImpl })], cardResolver: new DefaultAgentCardResolver({ fetchImpl }) });
const client = await factory.createFromUrl(url, '.well-known/agent-card.json');
const options = { serviceParameters: ServiceParameters.create(withA2AExtensions(EXTENSION)) };

function request(item_id, quantity) {
  const metadata = { [EXTENSION]: { context: 'urn:contexts:supplyChain:v1.0', performative: 'INFORM' } };
  const parts = [{ kind: 'data', data: { concept: 'current_decision', item_id, quantity } }];
  return { message: { kind: 'message', messageId: randomUUID(), role: 'user', extensions: [EXTENSION], metadata, parts } };
}

await play('message', async () => show('message', await client.sendMessage(request('message', 120), options)));
let task;
await play('task', async () => {
  task = await client.sendMessage(request('task', 7), options);
  show('task', task);
});
await play('get', async () => show('get', await client.getTask({ id: task.id, historyLength: 1 }, options)));
await play('stream', async () => {
  for await (const event of client.sendMessageStream(request('stream', 30), options)) show('stream', event);
});
await play('cancel', async () => {
  let waiting;
  const events = [];
  for await (const event of client.sendMessageStream(request('later', 1), options)) {
    events.push(event.kind);
    if (event.kind === 'artifact-update' && !waiting) {
      waiting = event.taskId;
      show('subscribe', (await client.resubscribeTask({ id: waiting }, options).next()).value);
      show('cancel', await client.cancelTask({ id: waiting }, options));
    }
  }
  show('cancelled stream', { events });
});
await play('unknown task', async () => show('unknown task', await client.getTask({ id: 'nobody-s' }, options)));
process.exit(0);
