// An agent on the official SDK for JavaScript, over JSON-RPC, HTTP+JSON and gRPC. It restates the decisions that it is told: in a
// message, in a task with an artifact, in a stream of them, or later, as the item of the decision says.
//
// Prints its ports as one line of JSON once it serves, and then a line for each message that reached it.

import { randomUUID } from 'node:crypto';
import { AgentCard, Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } from '@a2a-js/sdk/server/express';
import { A2AService, UserBuilder as GrpcUserBuilder, grpcService } from '@a2a-js/sdk/server/grpc';
import grpc from '@grpc/grpc-js';
import express from 'express';

const EXTENSION = 'urn:contexts:snl:v1.0';
const CLAIM = { [EXTENSION]: { context: 'urn:contexts:supplyChain:v1.0', performative: 'INFORM' } };

const decision = (item_id, quantity) => ({ data: { concept: 'current_decision', item_id, quantity } });

class Restating {
  waiting = new Map();

  async execute(request, bus) {
    const told = Message.toJSON(request.userMessage).parts[0].data;
    const [taskId, contextId] = [request.taskId, request.contextId];
    console.log(JSON.stringify({ item: told.item_id }));
    const status = (state) => bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status: { state } })));
    const artifact = (artifactId, quantity) =>
      bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON({
        taskId, contextId, lastChunk: true, artifact: { artifactId, metadata: CLAIM, parts: [decision(told.item_id, quantity)] },
      })));

    if (told.item_id === 'message') {
      const parts = [decision(told.item_id, told.quantity)];
      bus.publish(AgentEvent.message(Message.fromJSON({ messageId: randomUUID(), role: 'ROLE_AGENT', taskId, contextId, metadata: CLAIM, parts })));
      bus.finished();
      return;
    }
    const history = [Message.toJSON(request.userMessage)];
    bus.publish(AgentEvent.task(Task.fromJSON({ id: taskId, contextId, status: { state: 'TASK_STATE_SUBMITTED' }, history })));
    status('TASK_STATE_WORKING');
    artifact('first', told.quantity);
    if (told.item_id === 'later') {
      await new Promise((end) => this.waiting.set(taskId, end));
      status('TASK_STATE_CANCELED');
    } else {
      artifact('second', told.quantity + 1);
      status('TASK_STATE_COMPLETED');
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
  const rpc = new grpc.Server();
  rpc.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (failed, grpcPort) => {
    if (failed) throw failed;
    const card = AgentCard.fromJSON({
      name: 'Restating agent',
      description: 'Restates decisions',
      version: '1.0.0',
      supportedInterfaces: [
        { url: `http://127.0.0.1:${port}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        { url: `http://127.0.0.1:${port}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
        { url: `127.0.0.1:${grpcPort}`, protocolBinding: 'GRPC', protocolVersion: '1.0' },
      ],
      capabilities: { streaming: true, pushNotifications: false, extensions: [{ uri: EXTENSION }] },
      defaultInputModes: ['application/json'],
      defaultOutputModes: ['application/json'],
      skills: [{ id: 'restate', name: 'Restate', description: 'Restates a decision', tags: ['decision'] }],
    });
    const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Restating());
    const userBuilder = UserBuilder.noAuthentication;
    for (const base of ['', '/rpc', '/rest']) {
      app.use(`${base}/.well-known/agent-card.json`, agentCardHandler({ agentCardProvider: requestHandler }));
    }
    app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder }));
    app.use('/rest', restHandler({ requestHandler, userBuilder }));
    rpc.addService(A2AService, grpcService({ requestHandler, userBuilder: GrpcUserBuilder.noAuthentication }));
    console.log(JSON.stringify({ http: port, grpc: grpcPort }));
  });
});
