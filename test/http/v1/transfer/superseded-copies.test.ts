/* Evidence, imports: Forks and native imports keep the marks of superseded runs. The marks name the copied runs. */
import { afterEach, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'

interface Message {
  readonly id: string
  readonly run_id: string
  readonly superseded_by?: string
  readonly parts: readonly { readonly text?: string }[]
}

let harness: HttpHarness
afterEach(() => harness.close())

const textOf = ({ parts }: Message): string => parts.map(({ text }) => text ?? '').join('')
const messagesOf = async (session: string, query = ''): Promise<readonly Message[]> =>
  (await expectJson<{ data: Message[] }>(harness, 200, 'GET', `/v1/sessions/${session}/messages${query}`)).data

/** Returns the text of each message of a session, with the input of the run that superseded the message. */
async function marksOf(session: string): Promise<(string | undefined)[][]> {
  const messages = await messagesOf(session)
  const inputOf = (run: string | undefined): string | undefined => {
    const input = messages.find(({ run_id: id }) => id === run)
    return input === undefined ? run : textOf(input)
  }
  return messages.map((message) => [textOf(message), inputOf(message.superseded_by)])
}

/** Creates a session with a run that replaced an earlier run, and was replaced by a third run. */
async function talk(): Promise<void> {
  harness = await openHttpHarness({ script: ['A', 'B', 'C', 'D', 'E', 'F'].map((text) => ({ text })) })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const say = async (body: object): Promise<string> =>
    (await expectJson<{ id: string }>(harness, 200, 'POST', '/v1/sessions/s/messages', body)).id
  await say({ content: 'a' })
  const second = await say({ content: 'b' })
  const third = await say({ content: 'c', replaces: second })
  await say({ content: 'd', replaces: third })
  await say({ content: 'e' })
}

const MARKS = [
  ...['a', 'A'].map((text) => [text, undefined]),
  ...['b', 'B'].map((text) => [text, 'c']),
  ...['c', 'C'].map((text) => [text, 'd']),
  ...['d', 'D', 'e', 'E'].map((text) => [text, undefined]),
]
const CURRENT = ['a', 'A', 'd', 'D', 'e', 'E']

async function expectCopy(session: string): Promise<void> {
  expect(await marksOf(session)).toEqual(MARKS)
  const ids = new Set((await messagesOf(session)).map(({ run_id: run }) => run))
  for (const { superseded_by: by } of await messagesOf(session)) expect(by === undefined || ids.has(by)).toBe(true)
  expect((await messagesOf(session, '?superseded=false')).map(textOf)).toEqual(CURRENT)
  expect(await expectJson(harness, 200, 'GET', `/v1/sessions/${session}`)).toMatchObject({ message_count: 6 })
  await expectJson(harness, 200, 'POST', `/v1/sessions/${session}/messages`, { content: 'f' })
  const sent = harness.requests
    .at(-1)
    ?.messages.map(({ parts }) => parts.map((part) => ('text' in part ? part.text : '')))
  expect(sent?.flat()).toEqual([...CURRENT, 'f'])
}

test('the marks of superseded messages in a fork name runs of the fork', async () => {
  await talk()
  expect(await marksOf('s')).toEqual(MARKS)
  await expectJson(harness, 201, 'POST', '/v1/sessions/s/fork', { id: 'copy' })
  await expectCopy('copy')
})

test('no message is marked as superseded in a fork that ends before the replacing run', async () => {
  await talk()
  const through = (await messagesOf('s')).find((message) => textOf(message) === 'B')?.id
  await expectJson(harness, 201, 'POST', '/v1/sessions/s/fork', { id: 'copy', through })
  expect(await marksOf('copy')).toEqual(['a', 'A', 'b', 'B'].map((text) => [text, undefined]))
})

test('a native export has the marks; after an import, these marks name the imported runs', async () => {
  await talk()
  const lines = await (await harness.send('GET', '/v1/sessions/s/export')).text()
  expect(lines.match(/"superseded_by"/gu)).toHaveLength(4)
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'copy' })
  const headers = { 'content-type': 'application/x-ndjson' }
  await harness.send('POST', '/v1/sessions/copy/import?format=native', lines, headers)
  await expectCopy('copy')
})

test('a Markdown export names the run that superseded a message', async () => {
  await talk()
  const page = await (await harness.send('GET', '/v1/sessions/s/export?format=markdown')).text()
  expect(page.match(/superseded by run/gu)).toHaveLength(4)
})
