/* Evidence, house: Commands end with documented exit codes, and print their usage for missing arguments. */
/* Evidence, house: The tour runs as a smoke test. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { smokeTour } from '../../../functions/cli/commands/smoke-tour.ts'
import { startProgram } from '../../e2e/backend/program.ts'
import type { RunningProgram } from '../../e2e/backend/program.ts'
import { startFaultProxy } from '../../faults/fault-proxy.ts'

const folder = mkdtempSync(join(tmpdir(), 'tooltrail-smoke-'))
let program: RunningProgram
beforeAll(async () => {
  program = await startProgram({ env: { TOOLTRAIL_DATA: folder } })
})
afterAll(async () => {
  await program.kill()
  rmSync(folder, { recursive: true })
})

const smoke = (...words: string[]): Promise<{ readonly code: number; readonly out: string; readonly error: string }> =>
  new Promise((resolve) => {
    execFile(process.execPath, ['functions/cli/tooltrail.ts', 'smoke', ...words], (failure, out, error) =>
      resolve({ code: failure === null ? 0 : Number(failure.code), out, error }),
    )
  })

describe('npm run smoke', () => {
  test('finds no fault in the program on this machine, and removes everything it created', async () => {
    const { code, out } = await smoke('--url', `${program.client.url}/`)
    expect([code, out.split('\n').filter((line) => line.startsWith('ok  '))]).toEqual([
      0,
      expect.objectContaining({ length: 7 }),
    ])
    expect(out).toMatch(/\nall is well\n$/)
    expect(await program.client.all('/v1/sessions')).toEqual([])
  })

  test('waits for an index that does not exist yet, as in a new deployment', async () => {
    const proxy = await startFaultProxy(program.client.url)
    let refused = 0
    const body = JSON.stringify({ status: 503, detail: 'the history index cannot be read now: try again later' })
    proxy.decide(({ path }) =>
      path.startsWith('/v1/search') && refused++ < 2
        ? { at: 'before', does: { kind: 'respond', status: 503, body, type: 'application/problem+json' } }
        : undefined,
    )
    const { code, out } = await smoke('--url', proxy.endpoint)
    await proxy.stop()
    expect([code, out]).toEqual([0, expect.stringContaining('ok  what was said is found')])
    expect(refused).toBeGreaterThan(2)
  })

  test('waits as long as Lambda may need to start reading the stream of a new table', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const proxy = await startFaultProxy(program.client.url)
    let looks = 0
    proxy.decide(({ path }) => {
      if (!path.startsWith('/v1/search') || looks++ >= 5) return undefined
      vi.setSystemTime(Date.now() + 60_000)
      return { at: 'before', does: { kind: 'respond', status: 200, body: '{"data":[]}', type: 'application/json' } }
    })
    try {
      const reported: string[] = []
      await smokeTour({ url: proxy.endpoint }, (step) => reported.push(step))
      expect(reported).toContainEqual(expect.stringMatching(/^what was said is found \(30\d\./))
    } finally {
      vi.useRealTimers()
      await proxy.stop()
    }
  })

  test('reports in one line which step failed and why, and exits with code 2', async () => {
    const refused = await smoke('--url', program.client.url, '--key', 'tt_wrong')
    expect(refused).toMatchObject({ code: 2, error: '' })
    expect(refused.out).toMatch(/^ok {2}it responds .*\nFAILED {2}a session is made: POST \/v1\/sessions got 401: /)
  })

  test('exits with code 3 if no program responds', async () => {
    expect(await smoke('--url', 'http://127.0.0.1:1')).toMatchObject({
      code: 3,
      out: expect.stringMatching(/^FAILED {2}it responds: fetch failed: /) as string,
    })
  })

  test('reports an unexpected response in one line', async () => {
    const proxy = await startFaultProxy(program.client.url)
    proxy.decide(({ path }) =>
      path.startsWith('/v1/search')
        ? { at: 'before', does: { kind: 'respond', status: 200, body: '{"hits":[]}', type: 'application/json' } }
        : undefined,
    )
    const { code, out } = await smoke('--url', proxy.endpoint)
    await proxy.stop()
    expect([code, out]).toEqual([
      2,
      expect.stringMatching(
        /\nFAILED {2}what was said is found: \S+ does not respond as Tooltrail does: {"hits":\[\]}\n$/,
      ),
    ])
  })

  test('reports the first failure, and the session that could not be deleted', async () => {
    const proxy = await startFaultProxy(program.client.url)
    const body = JSON.stringify({ status: 500 })
    proxy.decide(({ path, method }) =>
      method === 'DELETE' || path.endsWith('/messages')
        ? { at: 'before', does: { kind: 'respond', status: 500, body, type: 'application/problem+json' } }
        : undefined,
    )
    const { code, out } = await smoke('--url', proxy.endpoint)
    await proxy.stop()
    expect([code, out]).toEqual([
      2,
      expect.stringMatching(
        /\(the session smoke-\w+ is left: it could not be deleted\)\nFAILED {2}a completion is streamed: /,
      ),
    ])
  })

  test.each([
    [['--url', 'nonsense']],
    [['--url', 'ftp://127.0.0.1']],
    [['--url', 'http://127.0.0.1/?x=1']],
    [['--url', 'http://me:word@127.0.0.1']],
    [['--url', 'http://127.0.0.1', '--key', '']],
    [['--url', 'http://127.0.0.1', '--key', 'tt_a\nb']],
    [['--ulr', 'http://127.0.0.1']],
  ])('reports the mistake in %j, and the option that prints the usage text', async (words) => {
    const { code, error } = await smoke(...words)
    expect([code, error]).toEqual([2, expect.stringMatching(/^.+\. Run with --help to see what there is\.\n$/)])
    expect((await smoke('--help')).out).toMatch(/^Usage: (?:npx )?tooltrail smoke /)
  })

  test('succeeds with a key that allows only two requests per second', async () => {
    const words = ['create', '--tenant', 'default', '--scope', 'admin', '--rps', '2']
    const key = await new Promise<string>((resolve) => {
      const env = { ...process.env, TOOLTRAIL_DATA: folder }
      execFile(process.execPath, ['functions/cli/tooltrail.ts', 'keys', ...words], { env }, (_, out) =>
        resolve(out.split('\n')[0] ?? ''),
      )
    })
    const { code, out } = await smoke('--url', program.client.url, '--key', key)
    expect([code, out]).toEqual([0, expect.stringMatching(/\nall is well\n$/)])
  })
})
