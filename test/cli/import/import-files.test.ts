/* Evidence, imports: Session files are imported completely. Damaged lines are reported with file and line, and only they are
 * lost. */
/* Evidence, imports: A result that arrives after its call was closed is found once, under its tool's name. */
import { execFile } from 'node:child_process'
import { appendFileSync, chmodSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { declareImporting } from '../../e2e/backend/importing.ts'

const importing = declareImporting()
const { run, write, writeOld, log } = importing

let uuid = 0
const ID = '0b9f1c1e-1111-4222-8333-444455556666'
const record = (type: string, message: object, more: object = {}): string =>
  `${JSON.stringify({
    ...{ type, uuid: `u${++uuid}`, sessionId: ID, cwd: '/work', gitBranch: 'main', version: '2.1.0' },
    ...{ timestamp: `2025-06-01T10:00:${String(uuid % 60).padStart(2, '0')}.000Z`, message, ...more },
  })}\n`
const said = (text: string): string => record('user', { role: 'user', content: text })
const answered = (id: string, ...content: object[]): string =>
  record('assistant', {
    id,
    role: 'assistant',
    model: 'claude-x',
    content,
    usage: { input_tokens: 3, output_tokens: 2 },
  })
const call = (id: string, name: string, input: object) => ({ type: 'tool_use', id, name, input })
const returned = (id: string, content: unknown, more: object = {}): string =>
  record('user', { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] }, more)

describe('sessions of Claude Code', () => {
  test('are imported with calls, results, times, folder and sub-agents; a repeated import adds only new messages', async () => {
    mkdirSync(join(importing.folder, ID, 'subagents', 'agent-a2.jsonl'), { recursive: true })
    const searched = said('look for it') + answered('m9', call('t9', 'Grep', { pattern: 'x' }))
    const agent = write(`${ID}/subagents/agent-a1.jsonl`, `${searched}${returned('t9', 'found zebra')}{torn\n`)
    const line = said('find the ffmpeg command')
    const path = writeOld(
      `${ID}.jsonl`,
      `{"type":"summary","summary":"Of another session","leafUuid":"nowhere"}\n`,
      line,
      answered('m1', { type: 'thinking', thinking: 'hm' }),
      answered('m1', call('t1', 'Bash', { command: 'ffmpeg -i a b' }), call('t2', 'Task', { subagent_type: 'seeker' })),
      line,
      returned('t1', [{ type: 'text', text: 'frames' }], { toolUseResult: { agentId: 'a2' } }),
      returned('t2', 'done by agent', { toolUseResult: { agentId: 'a1', status: 'completed' } }),
      record('user', { role: 'user', content: '<command-name>/clear</command-name>' }),
      answered('m2', { type: 'text', text: 'It was ffmpeg.' }),
    )
    expect(await run('claude-code', { dryRun: true })).toMatchObject({ files: 1, messages: 8 })
    expect(await run('claude-code')).toMatchObject({ files: 1, sessions: 1, messages: 8 })
    expect(importing.faults).toEqual([
      expect.stringContaining('agent-a2.jsonl:1: cannot be read'),
      `${agent}:4: is not JSON`,
    ])
    const id = `claude-code-${ID}`
    const messages = await log(id)
    expect(messages.map(({ role, agent }) => `${role} ${String(agent)}`)).toEqual([
      ...['user default', 'assistant claude-code', 'tool claude-code', 'tool claude-code'],
      ...['user seeker', 'assistant seeker', 'tool seeker', 'assistant claude-code'],
    ])
    expect(messages[1]).toMatchObject({ model: 'claude-x', usage: { input_tokens: 3 } })
    expect(messages[4]).toMatchObject({ parent_tool_call_id: 't2', parent_message_id: messages[3]?.id })
    const session = await importing.program.client.get<{ metadata: object }>(`/v1/sessions/${id}`)
    expect(session.metadata).toMatchObject({
      source: 'claude-code',
      folder: '/work',
      branch: 'main',
      agent_version: '2.1.0',
    })
    const hits = await importing.program.client.get<{ data: object[] }>(`/v1/search?q=zebra&session=${id}`)
    expect(hits.data).toHaveLength(1)
    expect(await run('claude-code')).toMatchObject({ messages: 0 })
    appendFileSync(path, said('and now?') + answered('m3', call('t3', 'Bash', { command: 'ls' })))
    // A call without a result may still get one.
    expect(await run('claude-code')).toMatchObject({ messages: 1 })
    appendFileSync(path, returned('t3', 'files') + answered('m4', { type: 'text', text: 'Files.' }))
    expect(await run('claude-code')).toMatchObject({ messages: 3 })
    expect((await log(id)).slice(0, 8)).toEqual(messages)
    expect(await log(id)).toHaveLength(12)
  })

  test('store a late result of a call once, as a separate round', async () => {
    const id = ID.replace('0b9f', 'bbbb')
    const begun = [said('build'), answered('b1', call('l1', 'Bash', {}), call('l2', 'Bash', {})), returned('l1', 'one')]
    writeOld(`${id}.jsonl`, ...begun)
    expect(await run('claude-code')).toMatchObject({ messages: 4 })
    const late = [...begun, returned('l2', 'two')]
    writeOld(`${id}.jsonl`, ...late)
    expect(await run('claude-code')).toMatchObject({ messages: 2 })
    expect(await run('claude-code')).toMatchObject({ messages: 0 })
    writeOld(`${id}.jsonl`, ...late, answered('b2', { type: 'text', text: 'Built.' }))
    expect(await run('claude-code')).toMatchObject({ messages: 1 })
    expect(await run('claude-code')).toMatchObject({ messages: 0 })
    expect(importing.faults).toEqual([])
    const messages = await log(`claude-code-${id}`)
    expect(messages.map(({ role, status }) => [role, status].join(' ').trim())).toEqual([
      ...['user', 'assistant', 'tool completed', 'tool interrupted'],
      ...['assistant', 'tool completed', 'assistant'],
    ])
    expect(messages[4]).toMatchObject({ parts: [{ type: 'tool_call' }], tool_calls: [{ id: 'l2', name: 'Bash' }] })
    expect(messages[5]).toMatchObject({ tool_call_id: 'l2', parts: [{ text: 'two' }] })
    const hits = await importing.program.client.get<{ data: object[] }>(
      `/v1/search?q=two&tool=Bash&session=claude-code-${id}`,
    )
    expect(hits.data).toHaveLength(1)
  })

  test('in folders that are nested too deep are reported', async () => {
    const deep = 'd/'.repeat(20)
    write(`${deep}x.jsonl`, said('deep'))
    expect(await run('claude-code')).toMatchObject({ files: 0, failed: 1 })
    expect(importing.faults).toEqual([expect.stringMatching(/(?:\/d){17}: is more than 16 folders deep: name it$/u)])
  })

  test('that are damaged lose only the damaged lines, which are reported', async () => {
    const torn = said('torn').slice(0, 40)
    const path = writeOld(
      `${ID.replace('0b9f', 'aaaa')}.jsonl`,
      `${said('first')}${torn}\n`,
      Buffer.from([0xff, 0xfe, 0x22, 0x0a]),
      `"${'x'.repeat(33 * 1024 * 1024)}"\n${'['.repeat(50_000)}\n`,
      `${returned('nobody', 'x')}${answered('m', { type: 'text', text: 'last' })}${torn}`,
    )
    const { folder } = importing
    mkdirSync(join(folder, 'closed'))
    symlinkSync(folder, join(folder, 'loop'))
    symlinkSync('/dev/zero', join(folder, 'endless.jsonl'))
    if (process.getuid?.() !== 0) chmodSync(join(folder, 'closed'), 0o000)
    expect(await run('claude-code')).toMatchObject({ files: 1, messages: 2 })
    chmodSync(join(folder, 'closed'), 0o700)
    const reported = importing.faults.filter((line) => line.startsWith(path)).map((line) => line.slice(path.length))
    expect(reported).toEqual([
      ':2: is not JSON',
      ':3: is not UTF-8',
      ':4: is longer than 32 MB',
      ':5: is not JSON',
      ':8: is not JSON, and is not complete yet',
      expect.stringMatching(/^:6: .*no tool call without a result/),
    ])
  })

  test('with many invalid lines cause a report of the first ten lines and a count of the others', async () => {
    const path = writeOld('notes.jsonl', `${'no JSON\n'.repeat(300)}${returned('nobody', 'x')}`)
    await run('claude-code')
    const reported = (line: number): string => `${path}:${line}: is not JSON`
    expect(importing.faults).toEqual([
      ...Array.from({ length: 10 }, (_, place) => reported(place + 1)),
      expect.stringMatching(
        /: 291 more lines are left out, the last of them 301: is not JSON \(290\), .*no tool call without a result.* \(1\)$/,
      ),
    ])
  })

  test('are sent again if the program is temporarily unavailable', async () => {
    writeOld('again.jsonl', said('walrus'), answered('m1', { type: 'text', text: 'yes' }))
    let refused = 0
    const server = createServer((request, response) => {
      if (refused++ < 2) return response.writeHead(503, { 'retry-after': '0' }).end('{"detail":"not now"}')
      const to = new URL(request.url ?? '/', importing.program.client.url)
      const headers = { 'content-type': request.headers['content-type'] ?? '' }
      const passed = httpRequest(to, { method: request.method, headers }, (from) => {
        response.writeHead(from.statusCode ?? 500, from.headers)
        from.pipe(response)
      })
      return request.pipe(passed)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    expect(await run('claude-code', { url: `http://127.0.0.1:${port}` })).toMatchObject({ messages: 2, unreadable: 0 })
    expect(importing.faults).toEqual([])
    server.close()
  })

  test('make their import fail if no program responds', async () => {
    write('x.jsonl', said('x'))
    await expect(run('claude-code', { url: 'http://127.0.0.1:9' })).rejects.toThrow(/nothing responds at/)
  })
})

test('several files of one session are imported in order', async () => {
  const id = 'six-exports'
  const lines = Array.from({ length: 600 }, (_, place) => ({
    role: 'user',
    parts: [{ type: 'text', text: `${place}` }],
  }))
  // Monthly exports of one session.
  for (const [month, name] of ['a', 'b', 'c', 'd', 'e', 'f'].entries())
    write(`${name}.jsonl`, { object: 'session', id }, ...lines.slice(0, 100 * (month + 1)))
  expect(await run('native')).toMatchObject({ files: 6, messages: 600 })
  expect(importing.faults).toEqual([])
  expect((await log(`native-${id}`)).map(({ parts }) => parts[0]?.text)).toEqual(lines.map((_, place) => `${place}`))
})

test('sessions of Codex are imported without screen-only output', async () => {
  const item = (payload: object, type = 'response_item'): string =>
    `${JSON.stringify({ timestamp: '2025-06-01T10:00:00.000Z', type, payload })}\n`
  const text = (role: string, value: string): object => ({
    type: 'message',
    role,
    content: [{ type: 'input_text', text: value }],
  })
  writeOld(
    'rollout-1.jsonl',
    item({ id: 'c0de', cwd: '/w', cli_version: '0.9', git: { branch: 'b' } }, 'session_meta'),
    item({ id: 'parent' }, 'session_meta'),
    item(text('developer', 'rules')),
    item(text('user', '<environment_context>x</environment_context>')),
    item(text('user', 'list files')),
    item({ type: 'user_message', message: 'list files' }, 'event_msg'),
    item({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'think' }], encrypted_content: 'e' }),
    item({ type: 'function_call', name: 'shell', arguments: '{"command":["ls"]}', call_id: 'k1' }),
    item({ type: 'function_call_output', call_id: 'k1', output: '{"output":"a.txt","metadata":{"exit_code":1}}' }),
    item({ type: 'web_search_call', action: { query: 'q' } }),
    item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'a.txt' }] }),
  )
  expect(await run('codex')).toMatchObject({ messages: 6 })
  const messages = await log('codex-c0de')
  expect(messages.map(({ role, status }) => [role, status])).toEqual([
    ...[
      ['user', undefined],
      ['assistant', undefined],
      ['tool', 'error'],
    ],
    ...[
      ['assistant', undefined],
      ['tool', 'completed'],
      ['assistant', undefined],
    ],
  ])
  expect(messages[1]).toMatchObject({
    parts: [
      { type: 'reasoning', text: 'think' },
      { type: 'tool_call', id: 'k1' },
    ],
  })
})

test('chat logs, UI messages and exports are imported', async () => {
  const chat = [
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: 'yo' },
  ]
  const path = write('chat.json', JSON.stringify(chat, null, 2))
  expect(await run('openai')).toMatchObject({ files: 1, messages: 2 })
  const ui = [
    { id: '1', role: 'user', parts: [{ type: 'text', text: 'hi' }] },
    {
      ...{ id: '2', role: 'assistant' },
      parts: [
        { type: 'step-start' },
        { type: 'tool-look', toolCallId: 'a', state: 'output-available', input: { q: 1 }, output: { n: 2 } },
        { type: 'step-start' },
        { type: 'text', text: 'two' },
      ],
    },
  ]
  write('chat.json', JSON.stringify([...ui, { id: '3', role: 'parrot', parts: [] }]))
  expect(await run('ai-sdk')).toMatchObject({ files: 1, messages: 4 })
  expect(importing.faults).toEqual([`${path}:[2]: is no message of a user or an assistant`])
  rmSync(path)
  await importing.program.client.post('/v1/sessions', { id: 'origin' })
  await importing.program.client.post('/v1/sessions/origin/import', { format: 'openai', messages: chat.slice(1) })
  const exported = await (await fetch(`${importing.program.client.url}/v1/sessions/origin/export`)).text()
  const native = write('o.jsonl', `${exported}42\n`)
  expect(await run('native')).toMatchObject({ files: 1, messages: 2 })
  expect(importing.faults).toEqual([`${native}:4: is no JSON object`])
  expect(await log('native-origin')).toHaveLength(2)
})

test('the command prints counts, damage and mistakes, and each case has its own exit code', async () => {
  const { folder } = importing
  write('x.jsonl', `${said('hello')}{torn\n`)
  const command = (...words: string[]) =>
    new Promise<string>((resolve) => {
      const args = [fileURLToPath(new URL('../../../functions/cli/tooltrail.ts', import.meta.url)), 'import', ...words]
      execFile(process.execPath, args, (error, stdout, stderr) => resolve(`${error?.code ?? 0} ${stdout}${stderr}`))
    })
  const reported = await command('claude-code', folder, '--url', importing.program.client.url)
  expect(reported).toMatch(/^0 1 file read; new: 1 message in 1 session\n.*x\.jsonl:2: is not JSON/)
  expect(await command('parrot')).toMatch(/^2 error: .* Allowed choices are claude-code, codex, /)
  expect(await command('codex', join(folder, 'nowhere'), '--url', importing.program.client.url)).toMatch(
    /^1 .*\n.*ENOENT/,
  )
  expect(await command('claude-code', folder, '--url', 'http://127.0.0.1:9')).toMatch(/^3 [^]*nothing responds/)
})
