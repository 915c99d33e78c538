/* Evidence, limits: Outputs of any size are indexed in bounded memory. */
import { isWhole } from '../whole.ts'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDiskOutputStore } from '../../functions/adapters/disk/output-store.ts'
import { nextIds } from '../../functions/domain/ids.ts'
import { callTo, writeLog } from '../generators/messages.ts'
import { memoryOf } from './memory-of.ts'

/** Sizes of outputs in MB; `WHOLE=1` tries sizes that once exhausted the memory. */
const [ONE, MANY, COUNT] = isWhole ? [100, 5, 32] : [16, 2, 8]
/** Maximum memory above the idle process, and the limit of the program's heap, in MB. */
const BOUND = 128
const HEAP = isWhole ? 96 : 64
const MINUTES_MS = 600_000

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tooltrail-memory-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Writes `count` results of `megabytes` MB each to the store. */
async function writeOutputs(unit: string, megabytes: number, count: number): Promise<string> {
  const bytes = Buffer.from(unit.repeat((megabytes * 1e6) / Buffer.byteLength(unit)))
  const outputs = createDiskOutputStore({ folder })
  const [, made] = writeLog().assistant(callTo('shell', '{}')).result(0, 'the beginning').log
  const messages: object[] = []
  for (const id of nextIds(undefined, Date.now(), count)) {
    const output = { bytes: bytes.length, lines: 1, sha256: '', mediaType: 'text/plain; charset=utf-8', object: id }
    await outputs.put({ tenant: 'acme', session: 's-1' }, id, bytes, output.mediaType)
    messages.push({ ...made, id, output })
  }
  const file = join(folder, `${crypto.randomUUID()}.json`)
  await writeFile(file, JSON.stringify(messages))
  return file
}

describe('indexing outputs of any size', () => {
  test.each([
    ['one large output', '2026-01-01T00:00:00Z INFO request ok xxxxxxxxxxxx\n', ONE, 1],
    ['many large outputs', '{"city": "Oslo", "note": "camelCaseWord in path/to/file.ts:12"}\n', MANY, COUNT],
    ['a line without an end', 'aBcDeFg1h2', MANY, 1],
    ['an output full of secrets', `npm_${'aB3'.repeat(12)}\n`, isWhole ? 2 : 0.3, 1],
  ])(
    'uses bounded memory: %s',
    async (_, unit, megabytes, count) => {
      const file = await writeOutputs(unit, megabytes, count)
      const program = join(import.meta.dirname, 'index-outputs-program.ts')
      const { idle, most, result } = await memoryOf(program, { heap: HEAP, args: [folder, file] })
      const { failed, stored } = result as { readonly failed: readonly string[]; readonly stored: number }
      expect(failed).toEqual([])
      expect(stored).toBeGreaterThan((megabytes * 1e6 * count) / 40_000)
      expect(most - idle).toBeLessThan(BOUND)
      if (isWhole) console.log(`${_}: ${idle.toFixed(0)} MB idle, ${most.toFixed(0)} at most, ${stored} documents`)
    },
    MINUTES_MS,
  )
})
