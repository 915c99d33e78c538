/*
 * While no key exists, the program refuses requests that a browser marks as those of another site. Today it executes such GETs.
 *
 * Suite: test/http/middleware/ (origins.test.ts)
 */
import { request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startScriptedProgram } from '../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../e2e/scripted-program.ts'

let scripted: ScriptedProgram
beforeAll(async () => void (scripted = await startScriptedProgram()))
afterAll(() => scripted.close())

/** `fetch` does not send these headers. */
function statusOf(path: string, site: string): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  const headers = { 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'empty' }
  request(scripted.client.url + path, { headers }, (response) => resolve(response.resume().statusCode))
    .on('error', reject)
    .end()
  return promise
}

test('a read of the same site is executed', async () => expect(await statusOf('/v1/sessions', 'same-origin')).toBe(200))

test.fails.each(['/v1/sessions', '/v1/search?q=hello', '/openai/v1/models'])(
  'a read of another site is refused: %s',
  async (path) => expect(await statusOf(path, 'cross-site')).toBe(403),
)
