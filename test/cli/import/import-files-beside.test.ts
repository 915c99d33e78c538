/* Evidence, imports: Outputs and sub-agents that Claude Code keeps in files beside a session are imported, too. */
import { appendFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { declareImporting } from '../../e2e/backend/importing.ts'

const importing = declareImporting()
const { write, old } = importing
const run = () => importing.run('claude-code')

let count = 0
const record = (sessionId: string, type: string, content: unknown, more: object = {}): object => ({
  ...{ type, uuid: `u${++count}`, sessionId, timestamp: new Date(1_700_000_000_000 + count).toISOString(), ...more },
  message: { id: `m${count}`, role: type, content },
})
const call = (id: string, name: string, input: object = {}): object[] => [{ type: 'tool_use', id, name, input }]
const result = (id: string, content: unknown): object[] => [{ type: 'tool_result', tool_use_id: id, content }]

const messagesOf = async (session: string) =>
  (
    await importing.program.client.get<{
      data: { id: string; role: string; parts: { text: string }[]; agent: string }[]
    }>(`/v1/sessions/${session}/messages?limit=200`)
  ).data
const outputOf = async (session: string, message: string): Promise<string> =>
  (await fetch(`${importing.program.client.url}/v1/sessions/${session}/messages/${message}/output`)).text()

test('an output that Claude Code stores in a separate file is imported completely, and can be searched', async () => {
  const id = '0b9f1c1e-1111-4222-8333-444455556661'
  const persisted = (name: string): string =>
    `<persisted-output>\nOutput too large (97.7KB). Full output saved to: /home/you/${id}/tool-results/${name}\n\nPreview (first 2KB):\nline\n...\n</persisted-output>`
  const whole = `${'line\n'.repeat(20_000)}the hidden narwhal\n`
  write(`${id}/tool-results/t1.txt`, whole)
  const secret = write('secret.txt', 'of somebody else')
  symlinkSync(secret, join(importing.folder, `${id}/tool-results/t3.txt`))
  write(
    `${id}.jsonl`,
    record(id, 'user', 'run the suite'),
    ...['t1', 't2', 't3'].flatMap((name) => [
      record(id, 'assistant', call(name, 'Bash')),
      record(id, 'user', result(name, persisted(name === 't2' ? '../../secret.txt' : `${name}.txt`))),
    ]),
    record(id, 'assistant', [{ type: 'text', text: 'All green.' }]),
  )
  expect(await run()).toMatchObject({ messages: 8 })
  expect(importing.faults).toEqual([])
  const results = (await messagesOf(`claude-code-${id}`)).filter(({ role }) => role === 'tool')
  expect(await outputOf(`claude-code-${id}`, results[0]?.id ?? '')).toBe(whole)
  // Files outside the session's folder are not read.
  for (const { parts } of results.slice(1)) expect(parts[0]?.text).toContain('Preview')
  const { data } = await importing.program.client.get<{ data: object[] }>('/v1/search?q=narwhal')
  expect(data).toHaveLength(1)
})

test('a background sub-agent and a sub-agent that no session waits for have their own conversations', async () => {
  const id = '0b9f1c1e-1111-4222-8333-444455556662'
  const agent = (name: string): object[] => [
    record(id, 'user', `task of ${name}`, { isSidechain: true, agentId: name }),
    record(id, 'assistant', [{ type: 'text', text: `done by ${name}` }], { isSidechain: true, agentId: name }),
  ]
  for (const name of ['front', 'back', 'waited', 'lost']) write(`${id}/subagents/agent-${name}.jsonl`, ...agent(name))
  const launched = { toolUseResult: { isAsync: true, status: 'async_launched', agentId: 'back' } }
  write(
    `${id}.jsonl`,
    record(id, 'user', 'go'),
    record(id, 'assistant', call('t1', 'Task', { subagent_type: 'Explore' })),
    record(id, 'user', result('t1', 'found'), { toolUseResult: { status: 'completed', agentId: 'front' } }),
    record(id, 'assistant', call('t2', 'Agent')),
    record(id, 'user', result('t2', 'launched'), launched),
  )
  write('agent-older.jsonl', ...agent('older'))
  old(`${id}/subagents/agent-lost.jsonl`)
  old('agent-older.jsonl')
  // The session may still get the result of a call written shortly before.
  expect(await run()).toMatchObject({ files: 4, messages: 5 + 2 + 3 * 2 })
  expect(importing.faults).toEqual([])
  for (const name of ['back', 'lost', 'older']) {
    const messages = await messagesOf(`claude-code-agent-${name}`)
    expect(messages.map(({ parts, agent: by }) => `${by}: ${parts[0]?.text}`)).toEqual([
      `default: task of ${name}`,
      `claude-code: done by ${name}`,
    ])
    expect(await importing.program.client.get(`/v1/sessions/claude-code-agent-${name}`)).toMatchObject({
      metadata: { parent_session: id },
    })
  }
  const [more] = agent('back')
  appendFileSync(join(importing.folder, `${id}/subagents/agent-back.jsonl`), `${JSON.stringify(more)}\n`)
  old(`${id}/subagents/agent-waited.jsonl`)
  expect(await run()).toMatchObject({ messages: 1 + 2 })
  expect(await run()).toMatchObject({ messages: 0 })
  expect((await messagesOf(`claude-code-${id}`)).filter(({ agent: by }) => by === 'Explore')).toHaveLength(2)
})
