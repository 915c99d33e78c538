/* Evidence, imports: If a session is deleted during its copy or export, the copy or export fails and does not look complete. */
/* Evidence, durability: A search that began before the deletion of a session completed shows nothing of that session. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Ports } from '../../../functions/runtime/program.ts'
import { expectJson, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'

/** More messages than the program reads at a time. */
const TURNS = 260
const TURN = 'what was said '.repeat(20)

let harness: HttpHarness
/** The session is deleted once this number of pages of its log was read. Undefined: it is not deleted. */
let deletedAfter: number | undefined
/** Whether the session is deleted completely once one of its messages was read for a hit. */
let deletedAtHit = false

/** Ports that delete the session `s` while a client reads its log. */
const deletedMeanwhile = (ports: Ports): Ports => {
  let pages = 0
  return {
    ...ports,
    reader: {
      ...ports.reader,
      async message(key, id) {
        const message = await ports.reader.message(key, id)
        if (deletedAtHit) {
          deletedAtHit = false
          expect(await expectJson(harness, 200, 'DELETE', '/v1/sessions/s')).toMatchObject({ status: 'completed' })
        }
        return message
      },
      async messages(key, query) {
        const page = await ports.reader.messages(key, query)
        if (
          key.session === 's' &&
          deletedAfter !== undefined &&
          query.order === 'ascending' &&
          ++pages === deletedAfter
        )
          await ports.deletion.tombstone(key)
        return page
      },
    },
  }
}

beforeEach(async () => {
  deletedAfter = undefined
  deletedAtHit = false
  harness = await openHttpHarness({ change: deletedMeanwhile })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const messages = Array.from({ length: TURNS }, (_, turn) => [
    { role: 'user', content: `${TURN}${turn}` },
    { role: 'assistant', content: `${TURN}${turn}` },
  ])
  await expectJson(harness, 200, 'POST', '/v1/sessions/s/import', {
    format: 'openai',
    messages: messages.flat(),
  })
})
afterEach(() => harness.close())

test.each(['native', 'markdown', 'openai'].flatMap((format) => [1, 2].map((pages) => [format, pages] as const)))(
  'an export is aborted when its session is deleted during the export: %s, after %i pages',
  async (format, pages) => {
    const whole = await (await harness.send('GET', `/v1/sessions/s/export?format=${format}`)).text()
    expect(whole).toContain(`${TURN}${TURNS - 1}`)
    deletedAfter = pages
    const response = await harness.send('GET', `/v1/sessions/s/export?format=${format}`)
    await expect(response.text()).rejects.toThrow()
  },
)

test('copying a session fails if the session is deleted during the copying', async () => {
  deletedAfter = 2
  const response = await harness.send('POST', '/v1/sessions/s/fork', { id: 'copy' })
  expect(response.status).toBe(404)
})

describe('a search that started before a deletion was completed', () => {
  const text = 'what was said 7'
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'search_history', arguments: { query: text } },
  }

  test.each([
    ['over the API', () => harness.send('GET', `/v1/search?q=${encodeURIComponent(text)}`)],
    ['over MCP', () => harness.send('POST', '/mcp', call, { accept: 'application/json, text/event-stream' })],
  ] as const)('shows no messages of the session %s', async (_, search) => {
    expect(await (await search()).text()).toContain(TURN.trim())
    deletedAtHit = true
    const response = await search()
    expect(response.status).toBe(200)
    expect(await response.text()).not.toContain(TURN.trim())
    expect(deletedAtHit).toBe(false)
  })
})
