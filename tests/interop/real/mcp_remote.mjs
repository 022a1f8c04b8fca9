// `mcp-remote`, unmodified, which puts a server over HTTP on the standard streams of a desktop client: `mcp_remote.mjs < PLANS`.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { outcome, run } from './plan.mjs'

await run(async (url, plan) => {
  const client = new Client({ name: 'desktop', version: '1' }, { capabilities: {} })
  const seen = { told: [], calls: [], reads: [], got: [] }
  client.setNotificationHandler(LoggingMessageNotificationSchema, (message) => seen.told.push(message.params))
  const args = ['node_modules/mcp-remote/dist/proxy.js', url, '--transport', 'http-only', '--allow-http']
  await client.connect(new StdioClientTransport({ command: 'node', args, stderr: 'ignore' }))
  const has = client.getServerCapabilities()
  seen.tools = (await client.listTools()).tools
  for (const { name, arguments: words } of plan.calls) {
    const onprogress = ({ progress, total, message }) => seen.told.push({ progress, total, message })
    seen.calls.push(await outcome(() => client.callTool({ name, arguments: words }, undefined, { onprogress })))
  }
  if (has.resources) seen.resources = await outcome(() => client.listResources())
  if (has.resources) seen.templates = await outcome(() => client.listResourceTemplates())
  if (has.prompts) seen.prompts = await outcome(() => client.listPrompts())
  for (const uri of plan.reads) seen.reads.push(await outcome(() => client.readResource({ uri })))
  for (const prompt of plan.prompts) seen.got.push(await outcome(() => client.getPrompt(prompt)))
  seen.told.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) // two streams come in no order
  await client.close()
  return seen
})
