// Runs Tooltrail's loop in this process, like a library. Supports the case `turns` only. TOOLTRAIL is the program's
// folder, after `npm ci`. Run this file with the program's Node.
// --mode sqlite: log and history index on SQLite (WAL, synchronous FULL).
// --mode dynamodb: the adapters of AWS, at --endpoint.
import path from 'node:path'
import fs from 'node:fs'
import { main, plan, tools } from '../common.mjs'

const at = (file) => import(path.join((process.env.TOOLTRAIL ?? path.resolve(import.meta.dirname, '../../..')), file))
const { completionOf, makeTool, openHarness } = await at('test/agent/harness.ts')
const shape = (m) => ({ role: m.role, text: (m.parts ?? []).map((p) => p.text ?? '').join(''), calls: (m.toolCalls ?? []).map((c) => c.id), answers: m.toolCallId ?? m.callId })
async function* complete(request) {
  const { text, calls } = request.tools.length === 0 ? { text: 'a summary', calls: [] } : plan(request.messages.map(shape))
  const turn = { ...(calls.length === 0 ? { text } : {}), calls: calls.map(({ id, name, args }) => ({ id, name, arguments: JSON.stringify(args) })) }
  if (turn.text !== undefined) yield { type: 'text.delta', part: 0, text: turn.text }
  yield { type: 'completion', completion: completionOf(turn) }
}
async function open({ dir, session, endpoint, mode }) {
  const folder = path.resolve(dir, session)
  fs.mkdirSync(folder, { recursive: true })
  process.env.TMPDIR = folder
  let change
  if (mode === 'dynamodb') {
    const { createSystemClock } = await at('functions/adapters/memory/system-clock.ts')
    const { createAwsStores } = await at('functions/runtime/aws/stores.ts')
    const { createTestTable } = await at('test/adapters/dynamodb/engine.ts')
    const { dynamodbClient } = await at('test/engines/clients.ts')
    const client = dynamodbClient(endpoint)
    const table = await createTestTable(client)
    change = (local) => ({ ...local, ...createAwsStores({ dynamodb: client, outputs: local.outputs, table, clock: createSystemClock() }).ports })
  }
  const harness = await openHarness({ script: Array.from({ length: 8_000 }, () => complete), ...(change && { change }),
    tools: Object.entries(tools).map(([name, work]) => makeTool(name, async (input) => ({ text: await work(input) }))) })
  if (change) await harness.ports.sessions.create({ ...harness.key, agent: 'default', owner: 'somebody', metadata: {} })
  return {
    async turn(text) {
      const run = await harness.settled(await harness.submit(text))
      harness.requests.length = 0
      harness.events.length = 0
      if (run.status !== 'completed') throw new Error(`the run is ${run.status}`)
    },
    // Indexes the pending documents.
    settle: async () => void (await harness.ports.index.search({ scope: { tenant: 'default' }, text: 'anything', filters: {}, limit: 1 })),
    messages: async () => {
      const all = []
      for (let from; ;) {
        const page = await harness.ports.reader.messages(harness.key, { order: 'ascending', limit: 500, ...(from && { after: from }) })
        all.push(...page.messages.map(shape))
        if (page.messages.length < 500) return all
        from = page.messages.at(-1).id
        if (from === undefined) return all
      }
    },
  }
}
await main({ open })
