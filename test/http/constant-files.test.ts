/* Evidence, page: The docs page contacts no other server, and works under its policy. */
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { createConstantFiles } from '../../functions/http/constant-files.ts'
import { openHttpHarness } from './harness.ts'

test('a file is created once, however many requests wait for it', async () => {
  const files = createConstantFiles()
  let made = 0
  const make = async () => ({ content: `text ${++made}`, headers: {} })
  const found = await Promise.all([files('name', make), files('name', make), files('name', make)])
  expect(new Set(found).size).toBe(1)
  expect(new TextDecoder().decode(found[0]?.plain)).toBe('text 1')
})

test('a file that could not be created is created for the next request', async () => {
  const files = createConstantFiles()
  const fail = () => Promise.reject(new Error('unreadable'))
  const both = await Promise.allSettled([files('name', fail), files('name', fail)])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  const { headers } = await files('name', () => ({ content: 'text', headers: { 'content-type': 'text/plain' } }))
  expect(headers['content-type']).toBe('text/plain')
})

test('the first 200 clients that request the docs cost hardly more than the next 200', async () => {
  const { program, close } = await openHttpHarness()
  const ask = async () => (await program.app.request('/docs')).arrayBuffer()
  const processorTime = async (): Promise<number> => {
    const before = process.cpuUsage()
    await Promise.all(Array.from({ length: 200 }, ask))
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  const first = await processorTime()
  expect(first).toBeLessThan(4 * (await processorTime()))
  await close()
})

test('the OpenAPI document is compressed for clients that accept it; a repeated request gets 304', async () => {
  const path = '/openapi.json'
  const { program, close } = await openHttpHarness()
  const zipped = await program.app.request(path, { headers: { 'accept-encoding': 'gzip' } })
  expect(zipped.headers.get('content-encoding')).toBe('gzip')
  const plain = await (await program.app.request(path)).text()
  expect(gunzipSync(await zipped.arrayBuffer()).toString()).toBe(plain)
  const etag = zipped.headers.get('etag') ?? ''
  const again = await program.app.request(path, { headers: { 'if-none-match': etag } })
  expect([again.status, await again.text()]).toEqual([304, ''])
  await close()
})
