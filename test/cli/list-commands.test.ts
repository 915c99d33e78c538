import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startProgram } from '../e2e/backend/program.ts'
import type { RunningProgram } from '../e2e/backend/program.ts'

const SESSIONS = 105
const FOLDER = '/home/ann/shop'
const UNKNOWN = '01JD2Q8N4T6W8Y0A2C4E6G8J0K'

const folder = mkdtempSync(join(tmpdir(), 'tooltrail-lists-'))
let program: RunningProgram
beforeAll(async () => {
  program = await startProgram({ env: { TOOLTRAIL_DATA: folder } })
  for (let n = 0; n < SESSIONS; n++) {
    const metadata = n % 2 === 0 ? { folder: FOLDER, source: 'codex', branch: 'main' } : { folder: '/srv' }
    await program.client.post('/v1/sessions', { id: `s${n}`, metadata })
    const created_at = new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString()
    const messages = [{ role: 'user', content: `Fix the **crate** ${n}`, created_at }]
    await program.client.post(`/v1/sessions/s${n}/import`, { format: 'openai', messages })
  }
})
afterAll(async () => {
  await program.kill()
  rmSync(folder, { recursive: true })
})

async function tooltrail(...words: readonly string[]) {
  const child = spawn(process.execPath, ['scripts/tooltrail.mjs', ...words], {
    env: { ...process.env, TOOLTRAIL_URL: program.client.url, NO_COLOR: '1' },
  })
  child.stdin.end()
  const [out, error, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { code: code as number | null, out, error }
}

type Line = Readonly<Record<string, unknown>>

async function entries(...words: readonly string[]): Promise<Line[]> {
  const { out } = await tooltrail(...words, '--json')
  return out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]))
}

const ids = async (...words: readonly string[]) => (await entries('sessions', ...words)).map(({ id }) => id)

describe('lists on the command line', () => {
  test('contain any number of sessions, one per line, and continue after a given session', async () => {
    const all = await ids('--limit', '1000')
    expect(all).toEqual(Array.from({ length: SESSIONS }, (_, n) => `s${SESSIONS - 1 - n}`))
    expect(await ids('--limit', '104')).toEqual(all.slice(0, 104))
    expect(await ids('--limit', '3', '--after', 's102')).toEqual(['s101', 's100', 's99'])
    expect(await ids('--after', 's0')).toEqual([])
    expect(await ids()).toHaveLength(20)
  })

  test('show titles to people, with the ids last, and a hint how to continue', async () => {
    const { out, error } = await tooltrail('sessions', '--limit', '2')
    expect(out).toMatch(/^TITLE .* SESSION\nFix the crate 104 +2026-01-01 .* s104\nFix the crate 103 .* s103\n$/u)
    expect(error).toBe('There are more: --after s103\n')
    const found = await tooltrail('search', 'crate', '--sort', 'oldest', '--limit', '1')
    expect(found.out).toMatch(
      / · Fix the crate 0 · \/home\/ann\/shop · session s0 · [0-9A-Z]{26}\nUSER: Fix the «crate» 0\n/u,
    )
    expect(found.error).toMatch(/^There is more: --after [0-9A-Z]{26}\n$/u)
  })

  test('contain any number of hits, one per line, and continue after a given hit', async () => {
    const all = await entries('search', 'crate', '--sort', 'newest', '--limit', '1000')
    expect(all.map(({ session_id: id }) => id)).toEqual(await ids('--limit', '1000'))
    const after = String(all[60]?.['message_id'])
    const rest = await entries('search', 'crate', '--sort', 'newest', '--limit', '2', '--after', after)
    expect(rest).toEqual(all.slice(61, 63))
  })

  test('are filtered by folder, program, branch and time', async () => {
    expect(await ids('--folder', FOLDER, '--limit', '1000')).toHaveLength(53)
    expect(await ids('--folder', '/home/*', '--source', 'codex', '--branch', 'main', '--limit', '2')).toEqual([
      's104',
      's102',
    ])
    expect(await ids('--since', '7d')).toEqual([])
    expect(await ids('--since', '2026-01-01T01:43Z')).toEqual(['s104', 's103'])
    expect(await ids('--until', '2026-01-01T00:01Z')).toEqual(['s1', 's0'])
    expect(await entries('search', 'crate', '--folder', FOLDER, '--limit', '1000')).toHaveLength(53)
    expect(await entries('search', 'crate', '--since', 'yesterday')).toEqual([])
  })

  test('show the messages around a given message, or any number of the newest messages of a session', async () => {
    const messages = Array.from({ length: 150 }, (_, n) => ({ role: 'user', content: `line ${n}` }))
    await program.client.post('/v1/sessions', { id: 'long' })
    await program.client.post('/v1/sessions/long/import', { format: 'openai', messages })
    const all = await entries('show', 'long')
    const around = await entries('show', 'long', '--around', String(all[70]?.['id']), '--limit', '6')
    expect(around).toEqual(all.slice(67, 73))
    expect(await entries('show', 'long', '--limit', '120')).toEqual(all.slice(30))
    const { error } = await tooltrail('show', 'long', '--around', String(all[0]?.['id']))
    expect(error).toMatch(/^There is more after: /u)
  })

  test.each([
    [['sessions', '--after', 'nobody'], 1, /^There is no entry nobody in this list\./u],
    [['show', 's1', '--around', UNKNOWN], 1, /^session s1 has no message /u],
    [['show', 's1', '--around', 'x'], 2, /The id of a message has 26 digits and capitals/u],
    [['show', 's1', '--around', UNKNOWN, '--limit', '1001'], 2, /--limit must be at most 1000 with --around/u],
    [['sessions', '--folder', '*'], 2, /It must not be empty/u],
    [['sessions', '--agent', ''], 2, /It must not be empty/u],
    [['search', 'x', '--tool', 'x'.repeat(129)], 2, /^the request is not valid: query\.tool /u],
    [['search', 'x', '--sort', 'best'], 2, /Allowed choices are relevance, newest, oldest/u],
    [['search', 'x', '--limit', '0'], 2, /It must be a whole number above 0/u],
  ] as const)('with %j exit with code %i', async (words, code, error) => {
    const refused = await tooltrail(...words)
    expect([refused.code, refused.error]).toEqual([code, expect.stringMatching(error)])
  })
})
