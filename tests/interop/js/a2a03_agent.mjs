// The agent of a2a_agent.mjs on the last SDK for JavaScript that spoke A2A 0.3, over JSON-RPC.

import { randomUUID } from 'node:crypto';
import { DefaultRequestHandler, InMemoryTaskStore } from 'a2a-js-sdk-03/server';
import { UserBuilder, agentCardHandler, jsonRpcHandler } from 'a2a-js-sdk-03/server/express';
import express from 'express';

const EXTENSION = 'urn:contexts:snl:v1.0';
const metadata = { [EXTENSION]: { context: 'urn:contexts:supplyChain:v1.0', performative: 'INFORM' } };

const decision = (item_id, quantity) => ({ kind: 'data', data: { concept: 'current_decision', item_id, quantity } });

class Restating {
  waiting = new Map();

  async execute({ taskId, contextId, userMessage }, bus) {
    const told = userMessage.parts[0].data;
    const status = (state, final = false) => bus.publish({ kind: 'status-update', taskId, contextId, final, status: { state } });
    const artifact = (artifactId, quantity) =>
      bus.publish({ kind: 'artifact-update', taskId, contextId, lastChunk: true, artifact: { artifactId, metadata, parts: [decision(told.item_id, quantity)] } });

    if (told.item_id === 'message') {
      const parts = [decision(told.item_id, told.quantity)];
      bus.publish({ kind: 'message', messageId: randomUUID(), role: 'agent', taskId, contextId, metadata, parts });
      bus.finished();
      return;
    }
    bus.publish({ kind: 'task', id: taskId, contextId, status: { state: 'submitted' }, history: [userMessage] });
    status('working');
    artifact('first', told.quantity);
    if (told.item_id === 'later') {
      await new Promise((end) => this.waiting.set(taskId, end));
      status('canceled', true);
    } else {
      artifact('second', told.quantity + 1);
      status('completed', true);
    }
    bus.finished();
  }

  async cancelTask(taskId) {
    this.waiting.get(taskId)?.();
  }
}

const app = express();
const server = app.listen(0, '127.0.0.1', () => {
  const { port } = server.address();
  const card = {
    name: 'Restating agent',
    description: 'Restates decisions',
    protocolVersion: '0.3.0',
    version: '1.0.0',
    url: `http://127.0.0.1:${port}/rpc`,
    preferredTransport: 'JSONRPC',
    capabilities: { streaming: true, pushNotifications: false, extensions: [{ uri: EXTENSION }] },
    defaultInputModes: ['application/json'],
    defaultOutputModes: ['application/json'],
    skills: [{ id: 'restate', name: 'Restate', description: 'Restates a decision', tags: ['decision'] }],
  };
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Restating());
  for (const base of ['', '/rpc']) {
    app.use(`${base}/.well-known/agent-card.json`, agentCardHandler({ agentCardProvider: requestHandler }));
  }
  app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  console.log(JSON.stringify({ http: port }));
});
