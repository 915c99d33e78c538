/* Evidence, imports: A result that arrives after its call was closed is found once, under its tool's name. */
import { expect, test } from 'vitest'
import { declareImporting } from '../../e2e/backend/importing.ts'

const importing = declareImporting()
const { run, log, writeOld } = importing

const CALLED = { id: 'c1', type: 'function', function: { name: 'deploy', arguments: '{"to":"prod"}' } }
const question = (text: string) => ({ role: 'user', content: text })
const FILES = {
  openai: {
    open: [question('ship it'), { role: 'assistant', content: null, tool_calls: [CALLED] }],
    late: [
      question('ship it'),
      { role: 'assistant', content: null, tool_calls: [CALLED] },
      { role: 'tool', tool_call_id: 'c1', content: 'shipped the walrus' },
    ],
  },
  'ai-sdk': {
    open: [said('ship it'), { role: 'assistant', parts: [uiCall({ state: 'input-available' })] }],
    late: [
      said('ship it'),
      { role: 'assistant', parts: [uiCall({ state: 'output-available', output: 'shipped the walrus' })] },
    ],
  },
  native: {
    open: [said('ship it'), native({ status: 'running', parts: [] })].flat(),
    late: [
      said('ship it'),
      native({ status: 'completed', parts: [{ type: 'text', text: 'shipped the walrus' }] }),
    ].flat(),
  },
}

function said(text: string): object {
  return { role: 'user', run_id: 'r1', parts: [{ type: 'text', text }] }
}
function uiCall(state: object): object {
  return { type: 'tool-deploy', toolCallId: 'c1', input: { to: 'prod' }, ...state }
}
function native(result: object): object[] {
  const base = { run_id: 'r1', agent: 'default', round: 0 }
  const tool_calls = [{ id: 'c1', name: 'deploy', arguments: '{"to":"prod"}' }]
  return [
    { ...base, id: 'm1', role: 'assistant', parts: [{ type: 'tool_call', id: 'c1' }], tool_calls },
    { ...base, id: 'm2', role: 'tool', tool_call_id: 'c1', sequence: 0, ...result },
  ]
}

async function only(): Promise<string> {
  const { data } = await importing.program.client.get<{ data: { id: string; metadata: { file?: string } }[] }>(
    '/v1/sessions?limit=100',
  )
  return data.find(({ metadata: { file } }) => file?.startsWith(importing.folder))?.id ?? ''
}
const shapeOf = async (session: string) =>
  (await log(session)).map(({ role, status, tool_calls: calls, parts }) => [
    [role, status].join(' ').trim(),
    calls?.[0]?.name ?? parts[0]?.text,
  ])
const INTERRUPTED = expect.stringMatching(/^interrupted: /)

test.each(['openai', 'ai-sdk', 'native'] as const)(
  'a late result in a file of %s is stored once as a separate round, and searchable',
  async (kind) => {
    const name = kind === 'native' ? 'a.jsonl' : 'a.json'
    const put = (messages: readonly object[]) =>
      kind === 'native' ? writeOld(name, ...messages) : writeOld(name, JSON.stringify(messages))
    const { open, late } = FILES[kind]
    put(open)
    // The files of UI messages and of chat messages are a day old.
    expect(await run(kind)).toMatchObject({ messages: 3 })
    put(late)
    expect(await run(kind)).toMatchObject({ messages: 2 })
    expect(await run(kind)).toMatchObject({ messages: 0 })
    expect(importing.faults).toEqual([])
    const session = await only()
    const wanted = [
      ['user', 'ship it'],
      ['assistant', 'deploy'],
      ['tool interrupted', INTERRUPTED],
      ['assistant', 'deploy'],
      ['tool completed', 'shipped the walrus'],
    ]
    expect(await shapeOf(session)).toEqual(wanted)
    const { client } = importing.program
    const hits = await client.get<{ data: object[] }>(`/v1/search?q=walrus&tool=deploy&session=${session}`)
    expect(hits.data).toHaveLength(1)

    // The test exports the session in both formats, and imports both exports.
    const exported = await (await fetch(`${client.url}/v1/sessions/${session}/export`)).text()
    writeOld('b.jsonl', exported.replaceAll(session, `${session}-again`))
    await run('native')
    expect(await shapeOf(`native-${session}-again`)).toEqual(wanted)
    const chat = await (await fetch(`${client.url}/v1/sessions/${session}/export?format=openai`)).text()
    expect(
      chat
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { role: string }).role),
    ).toEqual([...['user', 'assistant', 'tool', 'assistant', 'tool']])
  },
)

test('a result that arrives after its loop continued is stored permanently as a separate round', async () => {
  const second = { ...CALLED, id: 'c2' }
  const begun = [
    ...[question('ship it'), { role: 'assistant', content: null, tool_calls: [CALLED, second] }],
    ...[{ role: 'tool', tool_call_id: 'c2', content: 'two' }, question('and then?')],
  ]
  const late = { role: 'tool', tool_call_id: 'c1', content: 'one' }
  writeOld('a.jsonl', ...begun)
  expect(await run('openai')).toMatchObject({ messages: 5 })
  writeOld('a.jsonl', ...begun, late, { role: 'assistant', content: 'done' }, late)
  expect(await run('openai')).toMatchObject({ messages: 3 })
  // The repeated result is reported, because its call is no longer open.
  expect(importing.faults).toHaveLength(1)
  expect(await run('openai')).toMatchObject({ messages: 0 })
  expect(await shapeOf(await only())).toEqual([
    ...[
      ['user', 'ship it'],
      ['assistant', 'deploy'],
      ['tool completed', 'two'],
      ['tool interrupted', INTERRUPTED],
    ],
    ...[
      ['user', 'and then?'],
      ['assistant', 'deploy'],
      ['tool completed', 'one'],
      ['assistant', 'done'],
    ],
  ])
})
