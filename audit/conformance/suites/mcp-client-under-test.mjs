/*
 * The client of the MCP conformance suite: a program whose agent has the suite's server. The agent makes the calls that
 * the scenario names. If the scenario names none, it calls each tool once.
 */
import { scriptedModel } from '../lib/model.mjs'
import { agents, program } from '../lib/program.mjs'
const url = process.argv.at(-1)
const model = await scriptedModel()
const served = await program({
  model,
  file: agents({ tools: [], mcp: { s: { url } } }),
  env: { TOOLTRAIL_ALLOWED_HOSTS: new URL(url).host },
})
const post = (path, body) =>
  fetch(served.base + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).then((r) => r.json())
try {
  const { id } = await post('/v1/sessions', {})
  await post(`/v1/sessions/${id}/messages`, { content: 'hello' })
  const sent = model.requests.at(-1)?.tools ?? [],
    tools = sent.map((t) => t.function.name)
  const schema = (name) => sent.find((t) => t.function.name === `s__${name}`)?.function.parameters // the schema that the model received
  const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')
  const calls =
    context.toolCalls?.map((c) => ({ name: `s__${c.name}`, arguments: c.arguments })) ??
    (schema('json_schema_echo')
      ? [{ name: 's__json_schema_echo', arguments: { schema: schema('json_schema_2020_12_tool') } }]
      : tools.map((name) => ({ name, arguments: { a: 5, b: 3 } })))
  console.log('tools', tools, 'calls', JSON.stringify(calls))
  for (const call of calls) {
    const r = await post(`/v1/sessions/${id}/messages`, {
      content: `!call ${call.name} ${JSON.stringify(call.arguments)}`,
    })
    console.log(r.status, JSON.stringify(r.messages?.find((m) => m.role === 'tool')?.parts ?? r).slice(0, 300))
  }
} finally {
  await served.stop()
  model.close()
}
process.exit(0)
