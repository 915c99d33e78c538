import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RunningProgram } from './backend/program.ts'
import { startProgram } from './backend/program.ts'

/**
 * The data folder of a program of November 2026 (commit cda68b5), which was killed while a run waited for a client tool. It holds
 * three sessions: one of `ann` with two runs, one with a title, metadata, an image and sources, and an empty one.
 */
const ARCHIVE = join(import.meta.dirname, '../fixtures/data-folder-of-2026-11.tar.gz')
const WAITING = '01M8E288XHZMM2CS31BMRNYQGW'
const GIVEN = '01M8E28A05ENJ6F61ENSP9W21E'
const EMPTY = '01M8E28B8T8X5WCF6R74HNM4YK'

interface SessionBody {
  readonly id: string
  readonly title: string | null
  readonly title_source: string | null
  readonly message_count: number
  readonly first_message_at: string | null
  readonly metadata: object
}
interface RunBody {
  readonly id: string
  readonly status: string
  readonly waiting: readonly { readonly message_id: string }[]
}

describe('a data folder of an earlier version', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-kept-'))
  let program: RunningProgram
  let url: string

  const ask = async <Body>(path: string, body?: unknown): Promise<Body> => {
    const response = await fetch(`${url}/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    expect(response.status, path).toBeLessThan(300)
    return (await response.json()) as Body
  }

  beforeAll(async () => {
    expect(spawnSync('tar', ['-xzf', ARCHIVE, '-C', folder]).status).toBe(0)
    program = await startProgram({ env: { TOOLTRAIL_DATA: folder } })
    url = program.client.url
  })
  afterAll(async () => {
    await program.kill()
    rmSync(folder, { recursive: true, force: true })
  })

  test('lists its sessions with titles, counts and times', async () => {
    const { data } = await ask<{ data: readonly SessionBody[] }>('/sessions')
    const shown = new Map(data.map((session) => [session.id, session]))
    expect([...shown.keys()].toSorted()).toEqual([WAITING, GIVEN, EMPTY].toSorted())
    expect(shown.get(WAITING)).toMatchObject({ title: 'what time is it in Europe/Berlin', title_source: 'input' })
    expect(shown.get(GIVEN)).toMatchObject({
      title: 'A given title',
      title_source: 'given',
      metadata: { project: 'crates' },
    })
    expect(shown.get(EMPTY)).toMatchObject({
      title: null,
      title_source: null,
      message_count: 0,
      first_message_at: null,
    })
    expect(data.at(-1)?.id).toBe(EMPTY)
  })

  test('finds its messages in a search', async () => {
    const { data } = await ask<{ data: readonly { session_id: string }[] }>('/search?q=blue%20crates')
    expect(data[0]).toMatchObject({ session_id: WAITING })
  })

  test('completes the run that was waiting when its process was killed', async () => {
    const { data } = await ask<{ data: readonly RunBody[] }>(`/sessions/${WAITING}/runs?limit=10`)
    const run = data.find(({ status }) => status === 'paused')
    const results = (run?.waiting ?? []).map(({ message_id }) => ({ message_id, output: 'Yes, before noon.' }))
    expect(results).toHaveLength(1)
    const resolved = await ask<RunBody>(`/sessions/${WAITING}/runs/${run?.id ?? ''}/tool-results`, { results })
    expect(resolved.status).toBe('completed')
  })

  test('continues a session with an image and sources', async () => {
    const run = await ask<RunBody>(`/sessions/${GIVEN}/messages`, { content: 'what time is it' })
    expect(run.status).toBe('completed')
    const sources = await ask<{ data: readonly unknown[] }>(`/sessions/${GIVEN}/sources`)
    expect(sources.data.length).toBeGreaterThan(0)
  })

  test('forks and deletes a session', async () => {
    const fork = await ask<SessionBody>(`/sessions/${GIVEN}/fork`, {})
    expect(fork).toMatchObject({ title: 'A given title (copy)', title_source: 'given' })
    const response = await fetch(`${url}/v1/sessions/${fork.id}`, { method: 'DELETE' })
    expect(response.status).toBeLessThan(300)
  })
})
