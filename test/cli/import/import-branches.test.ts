/* Evidence, imports: If copies of a session file have different ends, each copy is imported completely, and the difference is
 * reported. */
import { appendFileSync, renameSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { digestOf, digestOfStored } from '../../../functions/cli/import/digests.ts'
import { declareImporting } from '../../e2e/backend/importing.ts'

const importing = declareImporting()
const { write } = importing

type Said = (role: 'user' | 'assistant', text: string) => string
const KINDS = ['claude-code', 'codex'] as const
type Kind = (typeof KINDS)[number]

/**
 * Returns the id of a conversation, the name of its file, and a function that builds a line. With `timed`, lines have timestamps.
 */
function conversation(kind: Kind, number: number, timed = true): { id: string; file: string; said: Said } {
  const id = `0b9f1c1e-1111-4222-8333-44445555666${number}`
  let count = 0
  const said: Said = (role, text) => {
    const time = timed ? { timestamp: new Date(1_700_000_000_000 + 1_000 * ++count).toISOString() } : {}
    const content = [{ type: kind === 'codex' ? 'input_text' : 'text', text }]
    const payload = { type: 'message', role, content }
    const line =
      kind === 'codex'
        ? { ...time, type: 'response_item', payload }
        : { ...time, type: role, uuid: text, sessionId: id, message: { id: text, role, content } }
    return `${JSON.stringify(line)}\n`
  }
  return { id: `${kind}-${id}`, file: `${kind === 'codex' ? 'rollout-' : ''}${id}.jsonl`, said }
}

const meta = (kind: Kind, id: string): string =>
  kind === 'codex' ? `${JSON.stringify({ type: 'session_meta', payload: { id: id.slice(6) } })}\n` : ''

async function run(kind: Kind | keyof typeof REWRITTEN): Promise<number> {
  const { messages } = await importing.run(kind)
  expect(importing.faults).toEqual([])
  return messages
}

/** Returns the texts of the sessions whose ids begin with `id`. */
async function logs(id: string): Promise<string[]> {
  const { data } = await importing.program.client.get<{ data: { id: string }[] }>('/v1/sessions?limit=100')
  const own = data.filter((session) => session.id.startsWith(id)).map((session) => session.id)
  return Promise.all(
    own.toSorted().map(async (session) => {
      const page = await importing.program.client.get<{ data: { parts: { text: string }[] }[] }>(
        `/v1/sessions/${session}/messages?limit=200`,
      )
      return page.data.map(({ parts }) => parts[0]?.text).join(' ')
    }),
  )
}

describe.each(KINDS)('diverged copies of a session of %s', (kind) => {
  test.each([
    ['longer, equally long and shorter', 0],
    ['the same, without times', 5],
  ])('are all imported completely and permanently: %s', async (_what, number) => {
    const { id, file, said } = conversation(kind, number, number === 0)
    const begun = meta(kind, id) + said('user', 'q1') + said('assistant', 'a1') + said('user', 'q2')
    write(`a/${file}`, begun + said('assistant', 'a2') + said('user', 'q3'))
    expect(await run(kind)).toBe(5)
    write(`b/${file}`, begun + said('assistant', 'b2') + said('user', 'b3') + said('assistant', 'b4'))
    write(`c/${file}`, begun + said('assistant', 'c2') + said('user', 'c3'))
    write(`d/${file}`, meta(kind, id) + said('user', 'd1'))
    expect(await run(kind)).toBe(6 + 5 + 1)
    expect(await run(kind)).toBe(0)
    const kept = ['q1 a1 q2 a2 q3', 'd1', 'q1 a1 q2 b2 b3 b4', 'q1 a1 q2 c2 c3']
    expect((await logs(id)).toSorted()).toEqual(kept.toSorted())

    appendFileSync(join(importing.folder, `a/${file}`), said('assistant', 'a3'))
    appendFileSync(join(importing.folder, `b/${file}`), said('user', 'b5'))
    renameSync(join(importing.folder, 'c'), join(importing.folder, 'e'))
    appendFileSync(join(importing.folder, `e/${file}`), said('assistant', 'c4'))
    expect(await run(kind)).toBe(3)
    expect(await run(kind)).toBe(0)
    const grown = ['q1 a1 q2 a2 q3 a3', 'd1', 'q1 a1 q2 b2 b3 b4 b5', 'q1 a1 q2 c2 c3 c4']
    expect((await logs(id)).toSorted()).toEqual(grown.toSorted())
  })

  test('lose nothing if a file is restored and diverges again; an older copy adds nothing', async () => {
    const { id, file, said } = conversation(kind, 1)
    const begun = meta(kind, id) + said('user', 'q1') + said('assistant', 'a1')
    write(`a/${file}`, begun + said('user', 'q2') + said('assistant', 'a2'))
    write(`backup/${file}`, begun)
    expect(await run(kind)).toBe(4)
    write(`a/${file}`, begun + said('user', 'p2'))
    expect(await run(kind)).toBe(3)
    expect(await run(kind)).toBe(0)
    expect(await logs(id)).toEqual(['q1 a1 q2 a2', 'q1 a1 p2'])
  })
})

type Chat = readonly (readonly ['user' | 'assistant', string])[]
/** Conversations of programs that rewrite the whole file for each change. */
const REWRITTEN = {
  openai: (chat: Chat) => JSON.stringify(chat.map(([role, content]) => ({ role, content }))),
  'ai-sdk': (chat: Chat) => JSON.stringify(chat.map(([role, text]) => ({ role, parts: [{ type: 'text', text }] }))),
  native: (chat: Chat) =>
    [
      { object: 'session', id: basename(importing.folder) },
      ...chat.map(([role, text]) => ({ role, parts: [{ type: 'text', text }] })),
    ]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(''),
}

describe.each(['openai', 'ai-sdk', 'native'] as const)('a changed file of %s', (kind) => {
  const name = kind === 'native' ? 'chat.jsonl' : 'chat.json'
  const put = (chat: Chat): string => importing.writeOld(name, REWRITTEN[kind](chat))
  const own = async (): Promise<string> => {
    const { data } = await importing.program.client.get<{ data: { id: string; metadata: { file?: string } }[] }>(
      '/v1/sessions?limit=100',
    )
    const of = data.filter(({ metadata: { file } }) => file === join(importing.folder, name))
    return of.map(({ id }) => id).toSorted((a, b) => a.length - b.length)[0] ?? ''
  }

  test('is reported once with the changed message, and imported completely beside the earlier session', async () => {
    put([
      ['user', 'q1'],
      ['assistant', 'a1'],
      ['user', 'q2'],
    ])
    await importing.run(kind)
    const id = await own()
    const path = put([
      ['user', 'q1'],
      ['assistant', 'other'],
      ['user', 'q2'],
      ['assistant', 'a2'],
    ])
    expect(await importing.run(kind)).toMatchObject({ messages: 4 })
    const place = kind === 'native' ? '3' : String.raw`\[1\]`
    expect(importing.faults).toEqual([
      expect.stringMatching(
        new RegExp(`^${path}:${place}: has changed since it was imported: .* as ${id}-[0-9a-f]{8}$`, 'u'),
      ),
    ])
    expect(await run(kind)).toBe(0)
    expect(await logs(id)).toEqual(['q1 a1 q2', 'q1 other q2 a2'])
    put([
      ['user', 'q1'],
      ['assistant', 'other'],
      ['user', 'q2'],
      ['assistant', 'a2'],
      ['user', 'q3'],
    ])
    expect(await run(kind)).toBe(1)
    expect(await run(kind)).toBe(0)
    expect(await logs(id)).toEqual(['q1 a1 q2', 'q1 other q2 a2 q3'])
  })

  test('continues in its session if only its beginning was removed', async () => {
    const chat: Chat = Array.from({ length: 9 }, (_, n) => [n % 2 === 0 ? 'user' : 'assistant', `m${n}`] as const)
    put(chat.slice(0, 5))
    await importing.run(kind)
    const id = await own()
    put(chat.slice(2, 7))
    expect(await run(kind)).toBe(2)
    put(chat.slice(3, 7))
    expect(await run(kind)).toBe(0)
    put(chat.slice(4, 9))
    expect(await run(kind)).toBe(2)
    expect(await logs(id)).toEqual(['m0 m1 m2 m3 m4 m5 m6 m7 m8'])
  })
})

test('a message that an earlier version stored with rounded numbers is recognised', () => {
  const call = (text: string) => ({ id: 'c', name: 'pay', arguments: text })
  const own = digestOf(
    { role: 'assistant', parts: [], toolCalls: [call('{"id":9007199254740993,"total":10.00}')] },
    false,
  )
  const stored = (text: string) =>
    digestOfStored({ role: 'assistant', created_at: '', parts: [], tool_calls: [call(text)] }, false).text
  expect(own.text).toBe(stored('{"id":9007199254740993,"total":10.00}'))
  expect(own.rounded).toBe(stored('{"id":9007199254740992,"total":10}'))
  const plain = { role: 'assistant', parts: [], toolCalls: [call('{ "id": 1.5 }')] } as const
  expect(digestOf(plain, false)).not.toHaveProperty('rounded')
})
