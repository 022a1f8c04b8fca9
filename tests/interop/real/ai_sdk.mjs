// The MCP client of the AI SDK (`@ai-sdk/mcp`), unmodified: `ai_sdk.mjs < PLANS`.
import { experimental_createMCPClient as createMCPClient } from '@ai-sdk/mcp'
import { outcome, run } from './plan.mjs'

await run(async (url, plan) => {
  const client = await createMCPClient({ transport: { type: 'http', url } })
  const tools = await client.tools()
  const seen = { tools: Object.entries(tools).map(([name, tool]) => [name, tool.description, tool.inputSchema?.jsonSchema, tool._meta]), calls: [] }
  for (const call of plan.calls) {
    const options = { toolCallId: 'call', messages: [] }
    seen.calls.push(await outcome(() => tools[call.name].execute(call.arguments, options)))
  }
  seen.resources = await outcome(() => client.listResources())
  seen.templates = await outcome(() => client.listResourceTemplates())
  seen.prompts = await outcome(() => client.experimental_listPrompts())
  seen.reads = []
  for (const uri of plan.reads) seen.reads.push(await outcome(() => client.readResource({ uri })))
  seen.got = []
  for (const prompt of plan.prompts) seen.got.push(await outcome(() => client.experimental_getPrompt(prompt)))
  await client.close()
  return seen
})
