import { expect } from 'vitest'
import type { Message, RunBody } from '../../backend/client.ts'
import { whileUnavailable } from '../../backend/unavailable.ts'
import { importOnce } from '../imported-turns.ts'
import { textOf } from '../invariants.ts'
import type { DurableClient } from './durable-client.ts'
import { inputText, marksOf, recallText } from './scripted-model.ts'

const ENDED = ['completed', 'failed', 'cancelled'] as const

/** Edits an input, sends the edited input again, and then checks which inputs later requests have. */
export async function replaceRuns(client: DurableClient): Promise<void> {
  const { knows } = client
  const say = async (key: string, word: string, more: object = {}): Promise<string> => {
    const unique = `${knows.session}.${key}`
    for (const mark of marksOf(word, unique)) knows.marks.add(mark)
    const run = await client.submit(key, { content: inputText(word, unique), ...more }, false)
    await client.finish(run)
    return run
  }
  const text = (key: string): string => knows.inputs.get(key) ?? ''
  await client.openSession()
  await say('first', 'say')
  const large = await say('second', 'large')
  const edited = await say('edited', 'recall', { replaces: large })
  const regenerated = await client.regenerate('regenerated', edited)
  await client.finish(regenerated)
  knows.repeated.add(text('edited'))
  const last = await say('last', 'recall')

  const messages = await client.client.messages(knows.session)
  const runs = await client.client.all<RunBody>(`/v1/sessions/${knows.session}/runs?limit=100`)
  const by = new Map([large, edited].map((run, place) => [run, [edited, regenerated][place]]))
  for (const { run_id: run, superseded_by: found } of messages)
    expect(found, `${knows.session}: what supersedes a message of ${run}`).toBe(by.get(run))
  for (const { id, superseded_by: found } of runs)
    expect(found, `${knows.session}: what supersedes run ${id}`).toBe(by.get(id))
  expectRecalled(knows.session, messages, edited, ['first', 'edited'].map(text))
  expectRecalled(knows.session, messages, regenerated, ['first', 'edited'].map(text))
  expectRecalled(knows.session, messages, last, ['first', 'edited', 'last'].map(text))
}

/** Checks the inputs in the request of a run. A run that was given up may have no completion. */
function expectRecalled(session: string, messages: readonly Message[], run: string, inputs: readonly string[]): void {
  const completions = messages.filter((one) => one.run_id === run && one.role === 'assistant').map(textOf)
  for (const completion of completions.filter((one) => one.startsWith('heard')))
    expect(completion, `${session}: inputs in the request of ${run}`).toBe(recallText(inputs))
}

/**
 * Copies a log of many steps, with a replaced run, into the session of this client. Repeats the request until the copy is
 * complete.
 */
export async function forkSession(client: DurableClient): Promise<void> {
  const { knows, client: http } = client
  const origin = `${knows.session}-origin`
  const base = `/v1/sessions/${origin}`
  const post = async (key: string, body: object): Promise<RunBody> => {
    const headers = { prefer: 'respond-async', 'idempotency-key': key }
    return http.runUntil(origin, (await http.post<RunBody>(`${base}/messages`, body, headers)).id, ENDED)
  }
  if (!knows.stopped.has('origin')) {
    const made = await whileUnavailable(() => http.send('POST', '/v1/sessions', { id: origin }))
    expect([201, 409]).toContain(made.status)
    await importOnce({ ...client, knows: { ...knows, session: origin } })
    const replaced = await post('first', { content: inputText('say', `${origin}.first`) })
    await post('second', { content: inputText('say', `${origin}.second`), replaces: replaced.id })
    knows.stopped.add('origin')
  }
  const source = await http.messages(origin)
  if (!knows.stopped.has('forked')) {
    const { status, text } = await whileUnavailable(() => http.send('POST', `${base}/fork`, { id: knows.session }))
    // The id of a complete copy is taken.
    if (status !== 201 && status !== 409) throw new Error(`POST ${base}/fork: ${status} ${text}`)
    knows.stopped.add('forked')
  }
  const copied = (await http.messages(knows.session)).slice(0, source.length)
  expect(copied.map(shown), `${knows.session}: the copy`).toStrictEqual(source.map(shown))
  const replacing = copied.findLast(({ role }) => role === 'user')?.run_id
  const marks = new Set(copied.flatMap(({ superseded_by: by }) => by ?? []))
  expect([...marks], `${knows.session}: the copied marks`).toStrictEqual([replacing])
  const run = await client.submit('recall', { content: inputText('recall', `${knows.session}.recall`) }, false)
  await client.finish(run)
  const inputs = copied.filter((one) => one.role === 'user' && one.superseded_by === undefined).map(textOf)
  const all = [...inputs, inputText('recall', `${knows.session}.recall`)]
  expectRecalled(knows.session, await http.messages(knows.session), run, all)
}

/** The fields of a message that its copy shares. A large output names its own object. */
const shown = (message: Message) => [
  message.role,
  textOf(message).replace(/output:\w+/, 'output'),
  message.status,
  message.tool_call_id,
  message.tool_calls,
  message.superseded_by === undefined,
]
