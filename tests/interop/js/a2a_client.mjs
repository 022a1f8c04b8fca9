// The official SDK for JavaScript as a client, unmodified: it resolves the card at a URL, plays a conversation, and prints what the
// SDK shows its user, one line of JSON a step, with made-up ids and times replaced by names, so that two runs can be compared.
//
//     node a2a_client.mjs URL JSONRPC|HTTP+JSON|GRPC [DIRECTORY AGENT [refused]]
//
// DIRECTORY is that of `semgate up`, AGENT one of its agents, for a listener that wants a client certificate (else both are empty). With
// `refused`, it only says what no context allows.

import { randomUUID } from 'node:crypto';
import { SendMessageRequest, StreamResponse, Task, ListTasksRequest, ListTasksResponse, Message } from '@a2a-js/sdk';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory, ServiceParameters, withA2AExtensions } from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import grpc from '@grpc/grpc-js';
import { fetchAs, identity, play, show } from './shown.mjs';

const EXTENSION = 'urn:contexts:snl:v1.0';
const [url, binding, directory, name, refused] = process.argv.slice(2);

function request(item_id, quantity, more = {}) {
  const metadata = { [EXTENSION]: { context: 'urn:contexts:supplyChain:v1.0', performative: 'INFORM' } };
  const parts = [{ data: { concept: 'current_decision', item_id, quantity } }];
  return SendMessageRequest.fromJSON({ message: { messageId: randomUUID(), role: 'ROLE_USER', extensions: [EXTENSION], metadata, parts, ...more } });
}

const shown = identity(directory, name);
const fetchImpl = fetchAs(shown);
const credentials = shown ? grpc.credentials.createSsl(shown.ca, shown.key, shown.cert) : grpc.credentials.createInsecure();
const factory = new ClientFactory({
  transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl }), new GrpcTransportFactory({ grpcChannelCredentials: credentials })],
  preferredTransports: [binding],
  cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
});
const client = await factory.createFromUrl(url, '.well-known/agent-card.json');
const options = { serviceParameters: ServiceParameters.create(withA2AExtensions(EXTENSION)) };
const result = (answer) => ('id' in answer ? { task: Task.toJSON(answer) } : { message: Message.toJSON(answer) });

if (refused) {
  await play('refused', async () => show('refused', result(await client.sendMessage(request('message', -1), options))));
  await play('refused stream', async () => {
    for await (const event of client.sendMessageStream(request('message', -1), options)) show('refused stream', StreamResponse.toJSON(event));
  });
  process.exit(0);
}

show('binding', { protocol: client.transport.protocolName, version: client.protocolVersion });
await play('message', async () => show('message', result(await client.sendMessage(request('message', 120), options))));

let task;
await play('task', async () => {
  task = await client.sendMessage(request('task', 7), options);
  show('task', result(task));
});
await play('get', async () => show('get', { task: Task.toJSON(await client.getTask({ tenant: '', id: task.id, historyLength: 1 }, options)) }));
await play('list', async () => {
  const list = await client.listTasks(ListTasksRequest.fromJSON({ contextId: task.contextId, pageSize: 10 }), options);
  show('list', ListTasksResponse.toJSON(list));
});
await play('stream', async () => {
  for await (const event of client.sendMessageStream(request('stream', 30), options)) show('stream', StreamResponse.toJSON(event));
});
await play('cancel', async () => {
  let waiting;
  const events = [];
  for await (const event of client.sendMessageStream(request('later', 1), options)) {
    const update = StreamResponse.toJSON(event);
    events.push(Object.keys(update)[0]);
    if (update.artifactUpdate && !waiting) {
      waiting = update.artifactUpdate.taskId;
      const again = client.resubscribeTask({ tenant: '', id: waiting }, options);
      show('subscribe', StreamResponse.toJSON((await again.next()).value));
      show('cancel', { task: Task.toJSON(await client.cancelTask({ tenant: '', id: waiting, metadata: {} }, options)) });
    }
  }
  show('cancelled stream', { events });
});
await play('unknown task', async () => show('unknown task', { task: Task.toJSON(await client.getTask({ tenant: '', id: 'nobody-s' }, options)) }));
process.exit(0);
