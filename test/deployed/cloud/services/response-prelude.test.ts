import { expect, test } from 'vitest'
import { createPreludeReader } from './response-prelude.ts'

test('the head of a response is sent once and first, then the complete body, however chunks are split', () => {
  const body = 'data: a\0\0b\n\n'
  const response = Buffer.from(`{"statusCode":201,"headers":{"a":"b"}}\0\0\0\0\0\0\0\0${body}`)
  for (let cut = 0; cut <= response.byteLength; cut++) {
    const seen: unknown[] = []
    const reader = createPreludeReader({
      head: (head) => void seen.push(head),
      body: (bytes) => void seen.push(bytes.toString()),
    })
    reader.read(response.subarray(0, cut))
    reader.read(response.subarray(cut))
    expect(seen[0]).toStrictEqual({ statusCode: 201, headers: { a: 'b' }, cookies: [] })
    expect(seen.slice(1).join('')).toBe(body)
  }
})
