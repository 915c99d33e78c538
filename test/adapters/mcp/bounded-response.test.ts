import { expect, test } from 'vitest'
import { boundedResponse } from '../../../functions/adapters/mcp/bounded-response.ts'

async function passed(pieces: readonly (string | Uint8Array)[]): Promise<string> {
  const bytes = pieces.map((piece) => (typeof piece === 'string' ? new TextEncoder().encode(piece) : piece))
  const headers = { 'content-type': 'text/event-stream' }
  return (await boundedResponse('host', new Response(ReadableStream.from(bytes), { headers }), 1)).text()
}

test.each(['\n', '\r', '\r\n'])(
  'events whose lines end with %j are read the same, wherever the chunks are split',
  async (end) => {
    const text = ['event: message', 'data: {"é": 1}', '', 'data: 2', '', ''].join(end)
    const whole = 'event: message\ndata: {"é": 1}\n\ndata: 2\n\n'
    expect(await passed([text])).toBe(whole)
    const bytes = new TextEncoder().encode(text)
    expect(await passed(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toBe(whole)
    for (let cut = 1; cut < bytes.length; cut++)
      expect(await passed([bytes.slice(0, cut), bytes.slice(cut)]), `cut at ${cut}`).toBe(whole)
  },
)

test('a blank line in its own chunk after a split CRLF ends the event', async () => {
  expect(await passed(['data: {"a":1}\r', '\n', '\n', 'data: 2\n\n'])).toBe('data: {"a":1}\n\ndata: 2\n\n')
})

test('lines with fields that SSE does not define are dropped', async () => {
  const lines = ['id: 7', 'x', 'y: 1', 'dataset: 2', 'retry: soon', 'retry: 250', ': comment', 'data: 3', '', '']
  expect(await passed([lines.join('\n')])).toBe('id: 7\nretry: 250\n: comment\ndata: 3\n\n')
  expect(await passed(['x\ny: 1\n: comment\n', 'data: 4\n\n'])).toBe(': comment\ndata: 4\n\n')
})
