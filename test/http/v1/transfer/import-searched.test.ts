/* Evidence, search: Repeated search results rank below the events themselves after an export and an import, too. */
import { afterEach, expect, test } from 'vitest'
import { makeTool } from '../../../agent/harness.ts'
import { comparable, exportLines, type ExportedMessage } from '../../../e2e/backend/exported.ts'
import { expectJson, openHttpHarness, type HttpHarness } from '../../harness.ts'

let open: HttpHarness[] = []
afterEach(async () => {
  for (const harness of open) await harness.close()
  open = []
})

const tools = [
  makeTool('search_history', async () => ({ text: 'found' })),
  makeTool('look', async () => ({ text: 'the blue crate is broken' })),
]
const calls = (name: string, input: object = {}) => ({
  calls: [{ id: `to-${name}`, name, arguments: JSON.stringify(input) }],
})
const task = calls('delegate_task_to_member', { member: 'clerk', task: 'find out' })

/**
 * An event, followed by turns that search for it and repeat it. The searches are made by a single agent, by a team's member, and
 * by the team's leader.
 */
const SCRIPT = [
  ...[calls('look'), { text: 'seen' }],
  ...[calls('search_history'), { text: 'You saw it: the blue crate, the blue crate.' }],
  ...[task, calls('search_history'), { text: 'It was the blue crate, the blue crate.' }],
  { text: 'My clerk says: the blue crate, the blue crate.' },
  ...[calls('search_history'), task, { text: 'I was told of the blue crate, the blue crate.' }],
  { text: 'So it was the blue crate, the blue crate.' },
]

async function start(script: Parameters<typeof openHttpHarness>[0]): Promise<HttpHarness> {
  const agents = [{ name: 'default', members: ['clerk'] }, { name: 'clerk' }]
  const harness = await openHttpHarness({ tools, agents, ...script })
  open.push(harness)
  return harness
}
const lines = (harness: HttpHarness, session: string): Promise<ExportedMessage[]> =>
  exportLines(async (path) => harness.send('GET', path), session)
const create = (harness: HttpHarness, id: string) => expectJson(harness, 201, 'POST', '/v1/sessions', { id })

/** Searches for the event. Returns the session, role and snippet of each hit, best first. */
async function hits(harness: HttpHarness): Promise<string[]> {
  const { data } = await expectJson<{ data: { role: string; session_id: string; snippet: string }[] }>(
    ...[harness, 200, 'GET', '/v1/search?q=blue%20crate'],
  )
  return data.map((hit) => `${hit.session_id} ${hit.role} ${hit.snippet}`)
}

const SESSIONS = ['did', 'asked', 'team', 'leader']

test('search results and texts that repeat them rank below the original messages, also after export and import', async () => {
  const here = await start({ script: SCRIPT })
  for (const id of SESSIONS) {
    await create(here, id)
    await expectJson(here, 200, 'POST', `/v1/sessions/${id}/messages`, { content: 'How is it going?' })
  }
  const found = await hits(here)
  expect(found[0]).toMatch(/^did tool_result /)
  expect(found.length).toBeGreaterThan(3)
  const there = await start({})
  for (const id of SESSIONS) {
    await create(there, id)
    const messages = await lines(here, id)
    await expectJson(there, 200, 'POST', `/v1/sessions/${id}/import`, { format: 'native', messages })
    expect((await lines(there, id)).map(withoutTime), id).toEqual(messages.map(withoutTime))
  }
  expect(await hits(there)).toEqual(found)
})

test('an import without marks recognises the search calls that precede an answer, and marks the answer', async () => {
  const here = await start({ script: SCRIPT })
  const there = await start({})
  for (const id of SESSIONS) {
    for (const harness of [here, there]) await create(harness, id)
    await expectJson(here, 200, 'POST', `/v1/sessions/${id}/messages`, { content: 'How is it going?' })
    const messages = (await lines(here, id)).map((message) => ({ ...message, searched: undefined }))
    await expectJson(there, 200, 'POST', `/v1/sessions/${id}/import`, { format: 'native', messages })
    const marked = (log: readonly ExportedMessage[]) =>
      log.filter(({ role }) => role === 'assistant').map(({ searched }) => searched)
    expect(marked(await lines(there, id)), id).toEqual(marked(await lines(here, id)))
  }
  // The log shows the task's result before the member's search. So only the source knows that the task had a search.
  const reported = (await hits(there)).filter((hit) => !hit.startsWith('team tool_'))
  expect(reported[0]).toMatch(/^did tool_result /)
})

const withoutTime = (message: ExportedMessage): unknown => ({ ...(comparable(message) as object), created_at: '' })
