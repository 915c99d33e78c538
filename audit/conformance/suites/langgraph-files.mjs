// Imports a checkpoint file that LangGraph's own SqliteSaver wrote. Checks that every message of every thread was
// imported.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { check, finish, is, same } from '../lib/checks.mjs'
import { scriptedModel } from '../lib/model.mjs'
import { checkout, python as programs, run } from '../lib/options.mjs'
import { pipPackages, pipVersions } from '../lib/packages.mjs'
import { program } from '../lib/program.mjs'
const python = pipPackages('langgraph', ['langgraph', 'langchain', 'langchain-openai', 'langgraph-checkpoint-sqlite'])
console.log(pipVersions(python, ['langgraph', 'langchain', 'langgraph-checkpoint-sqlite', 'langgraph-checkpoint']))
const model = await scriptedModel(),
  served = await program({ model }),
  file = join(mkdtempSync(join(tmpdir(), 'langgraph-')), 'graph.db')
const made = await run(python, [join(programs, 'langgraph-files.py'), served.base, file], { limit: 120_000 })
if (made.code !== 0) throw new Error(made.stderr.slice(-2000))
const threads = JSON.parse(made.stdout),
  target = await program({})
const imported = await run('npm', ['run', '--silent', 'import', '--', 'langgraph-sqlite', file, '--url', target.base], {
  cwd: checkout,
})
await check('the import', async () => {
  is(imported.code === 0 && imported.stderr === '', imported.stdout + imported.stderr)
  return imported.stdout.trim()
})
const sessions = (await (await fetch(`${target.base}/v1/sessions`)).json()).data
const logs = await Promise.all(
  sessions.map(async (s) => (await (await fetch(`${target.base}/v1/sessions/${s.id}/messages?limit=200`)).json()).data),
)
for (const [thread, messages] of Object.entries(threads))
  await check(`thread ${thread.length > 20 ? 'with a UUID' : thread}`, async () => {
    const first = messages.find((m) => m.type === 'human').text,
      log = logs.find((l) => l[0]?.parts[0]?.text === first)
    is(log, `no session begins with ${first}`)
    same(
      log.map((m) => [
        m.role === 'user' ? 'human' : m.role === 'assistant' ? 'ai' : 'tool',
        m.parts
          .filter((p) => p.type === 'text')
          .map((p) => p.text)
          .join(''),
        (m.tool_calls ?? []).map((c) => c.id),
        m.tool_call_id ?? null,
      ]),
      messages.filter((m) => m.type !== 'system').map((m) => [m.type, m.text, m.calls, m.result]),
      'log',
    )
    return `${log.length} messages`
  })
await check('once more adds nothing', async () => {
  const r = await run('npm', ['run', '--silent', 'import', '--', 'langgraph-sqlite', file, '--url', target.base], {
    cwd: checkout,
  })
  is(/new: 0 messages/.test(r.stdout), r.stdout + r.stderr)
  return r.stdout.trim().split('\n').at(-1)
})
await finish('langgraph-files', served.stop, target.stop, model.close)
