import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Client } from '../../e2e/backend/client.ts'
import { comparable, exportLines } from '../../e2e/backend/exported.ts'
import { importFolder } from '../../e2e/backend/importing.ts'
import type { System } from '../system.ts'
import { found } from './inputs-and-hits.ts'

const ID = '0b9f1c1e-1111-4222-8333-444455556666'
const SESSION = `claude-code-${ID}`
/** Number of turns. The turns have more messages than one step of an import can store. */
const TURNS = 60
const LINES = { 'content-type': 'application/x-ndjson' }

/** Scenarios of imports of other programs' histories through the deployed API. */
export function declareImport(system: () => System): void {
  const get =
    ({ client }: System) =>
    (path: string) =>
      fetch(client.url + path, { headers: client.headers })

  test('session files of another program are imported once, however often they are sent, and are found', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tooltrail-deployed-import-'))
    try {
      const file = join(folder, `${ID}.jsonl`)
      writeFileSync(file, Array.from({ length: TURNS }, (_, number) => turn(number)).join(''))
      utimesSync(file, 0, 0)
      const counts = [await importInto(system().client, folder), await importInto(system().client, folder)]
      expect(counts).toEqual([3 * TURNS, 0])
    } finally {
      rmSync(folder, { recursive: true })
    }
    const log = await system().client.messages(SESSION)
    const texts = log.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? part.text : [])))
    expect(texts).toEqual(Array.from({ length: TURNS }, (_, number) => textsOf(number)).flat())
    await found(system(), `quokka${TURNS - 1}`)
  })

  test('an imported export equals the original, and a fork equals its origin', async () => {
    const { client } = system()
    const origin = await exportLines(get(system()), SESSION)
    expect(origin).toHaveLength(3 * TURNS)
    const text = await (await get(system())(`/v1/sessions/${SESSION}/export`)).text()
    await client.post('/v1/sessions', { id: 'imported-again' })
    await client.post('/v1/sessions/imported-again/import?format=native', text, LINES)
    await client.post(`/v1/sessions/${SESSION}/fork`, { id: 'imported-fork' })
    for (const copy of ['imported-again', 'imported-fork'])
      expect((await exportLines(get(system()), copy)).map(comparable), copy).toEqual(origin.map(comparable))
  })
}

const textsOf = (number: number) => [`question ${number}`, `quokka${number}`] as const

/** A turn with a call, in the form of Claude Code. */
function turn(number: number): string {
  const [question, output] = textsOf(number)
  const said = (type: string, place: number, content: unknown): string => {
    const id = `${number}-${place}`
    const about = { type, uuid: id, sessionId: ID, timestamp: '2025-06-01T10:00:00.000Z' }
    return `${JSON.stringify({ ...about, message: { id, role: type, model: 'made', content } })}\n`
  }
  const id = `call-${number}`
  return [
    said('user', 0, question),
    said('assistant', 1, [{ type: 'tool_use', id, name: 'Bash', input: { command: `echo ${output}` } }]),
    said('user', 2, [{ type: 'tool_result', tool_use_id: id, content: output }]),
  ].join('')
}

/** Resolves to the number of new messages. */
async function importInto({ url, headers }: Client, folder: string): Promise<number> {
  const key = headers['authorization']?.replace('Bearer ', '')
  const { counts, faults } = await importFolder('claude-code', folder, { url, key })
  expect(faults).toEqual([])
  return counts.messages
}
