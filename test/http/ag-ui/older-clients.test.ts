import { afterEach, describe, expect, test } from 'vitest'
import { PNG } from '../../fixtures/png.ts'
import { expectJson, heldTurn, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'
import { say } from './client.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const open = async (options: Parameters<typeof openHttpHarness>[0] = {}): Promise<void> => {
  harness = await openHttpHarness(options)
}

/** Sends an input as clients before version 1.0 send it, and returns the events. */
async function postInput(fields: object): Promise<Record<string, unknown>[]> {
  const body = { threadId: 'talk', runId: 'r', tools: [], context: [], ...fields }
  const response = await harness.send('POST', '/v1/ag-ui/default', body)
  const frames = (await response.text()).split('\n\n').filter((frame) => frame !== '')
  return frames.map((frame) => JSON.parse(frame.slice('data: '.length)) as Record<string, unknown>)
}

describe('an AG-UI client before version 1.0', () => {
  test('has its binary parts stored like other media', async () => {
    await open()
    const content = [
      { type: 'text', text: 'What is it?' },
      { type: 'binary', mimeType: 'image/png', data: PNG },
      { type: 'binary', mimeType: 'text/csv', data: 'YSxi', filename: 'table.csv' },
      { type: 'binary', mimeType: 'image/png', url: `data:image/png;base64,${PNG}` },
    ]
    const events = await postInput({ messages: [{ id: 'm', role: 'user', content }] })
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
    const { data } = await expectJson<{ data: Record<string, unknown>[] }>(
      harness,
      200,
      'GET',
      '/v1/sessions/talk/messages',
    )
    const [input] = data
    expect(input?.['parts']).toMatchObject([
      { type: 'text' },
      { type: 'image', media_type: 'image/png' },
      { type: 'file', media_type: 'text/csv', filename: 'table.csv', bytes: 3 },
      { type: 'image', media_type: 'image/png' },
    ])
    expect(harness.requests[0]?.messages[0]?.parts).toMatchObject([
      { type: 'text' },
      { mediaType: 'image/png' },
      { mediaType: 'text/csv' },
      { mediaType: 'image/png' },
    ])
  })

  test('gets no outcome for a cancelled run, because it rejects that outcome', async () => {
    const held = heldTurn()
    await open({ script: [held.turn] })
    const running = postInput({ messages: [say('Think')] })
    await expect.poll(() => harness.requests.length).toBe(1)
    const { data } = await expectJson<{ data: { id: string }[] }>(harness, 200, 'GET', '/v1/sessions/talk/runs')
    await expectJson(harness, 202, 'POST', `/v1/sessions/talk/runs/${data[0]?.id}/cancel`)
    const last = (await running).at(-1)
    expect(last).toMatchObject({ type: 'RUN_FINISHED', threadId: 'talk' })
    expect(last).not.toHaveProperty('outcome')
  })
})
