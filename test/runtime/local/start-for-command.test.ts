import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { newKeySecret } from '../../../functions/access/key-secret.ts'
import type { Run } from '../../../functions/client/api-types.ts'
import { createClient } from '../../../functions/client/client.ts'
import { LEASE_MS } from '../../../functions/domain/session.ts'
import { readSettings } from '../../../functions/runtime/settings/config.ts'
import { openLocalPorts } from '../../../functions/runtime/local/ports.ts'
import { startForCommand } from '../../../functions/runtime/local/start-for-command.ts'
import { newRun } from '../../contracts/session-fixture.ts'

/** A time longer than a program needs from its start to its first sweep. */
const SWEPT_MS = 2_000
const access = { secret: newKeySecret(), tenant: 'acme' }

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tooltrail-command-'))
})
afterEach(() => rm(folder, { recursive: true }))

const settings = () => readSettings({ TOOLTRAIL_DATA: folder, MODEL: 'demo/demo' })

/** Starts a run whose holder has died so long ago that its lease has expired. Returns the run's id. */
async function leaveRun(key = { tenant: 'acme', session: 's' }): Promise<string> {
  const past = { now: () => Date.now() - 2 * LEASE_MS, sleep: () => Promise.resolve() }
  const ports = openLocalPorts({ dataFolder: folder, logLevel: 'error', modelSettings: {} }, past)
  await ports.sessions.create({ agent: 'default', metadata: {}, ...key })
  const { runId } = await ports.inbox.enqueue(key, newRun({ agent: 'default', startAs: 'died' }))
  await ports.close()
  return runId
}

describe('the program for one command', () => {
  test('does not resume the run of a dead process if the command only reads', async () => {
    const run = await leaveRun()
    const server = await startForCommand(settings(), { access, takesWork: false })
    const client = createClient({ url: server.url, key: access.secret })
    await sleep(SWEPT_MS)
    expect(await client.readRun('s', run)).toMatchObject({ status: 'running' })
    await server.close()
  })

  test('executes pending runs of the session that the command follows, and no others', async () => {
    const [left, other] = [await leaveRun(), await leaveRun({ tenant: 'acme', session: 'other' })]
    const server = await startForCommand(settings(), { access, takesWork: true })
    const client = createClient({ url: server.url, key: access.secret })
    await sleep(SWEPT_MS)
    expect(await client.readRun('s', left)).toMatchObject({ status: 'running' })
    const types: string[] = []
    for await (const { event } of client.streamMessage('s', { content: 'next' })) types.push(event.type)
    expect(types.at(-1)).toBe('run.completed')
    expect(await client.readRun('s', left)).toMatchObject({ status: 'completed' })
    expect(await client.readRun('other', other)).toMatchObject({ status: 'running' })
    await server.close()
  })

  test('resumes a paused run after its last result', async () => {
    const server = await startForCommand(settings(), { access, takesWork: true })
    const client = createClient({ url: server.url, key: access.secret })
    const { id } = await client.createSession({})
    const tools = [{ name: 'ask_boss', description: 'Asks the boss.', parameters: { type: 'object' } }]
    let run: Run | undefined
    for await (const { event } of client.streamMessage(id, { content: 'use ask_boss with {}', tools }))
      if (event.type === 'run.paused') run = event.run
    const [call] = run?.waiting ?? []
    await client.sendToolResults(id, run?.id ?? '', {
      results: [{ tool_call_id: call?.tool_call_id ?? '', output: 'Yes.' }],
    })
    const types: string[] = []
    for await (const { event } of client.follow(id, run?.id ?? '')) types.push(event.type)
    expect(types.at(-1)).toBe('run.completed')
    await server.close()
  })

  test('does not keep the command running: an unfinished tool ends with the command', async () => {
    const connect = join(import.meta.dirname, '../../../functions/cli/connect.ts')
    const left = `import { whileConnected } from ${JSON.stringify(connect)}
      await whileConnected({ tenant: 'acme' }, async () => void setInterval(() => undefined, 1_000))
      process.exitCode = 7`
    const child = spawn(process.execPath, ['--input-type=module', '-e', left], {
      env: { ...process.env, TOOLTRAIL_DATA: folder, MODEL: 'demo/demo' },
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    expect(await once(child, 'exit')).toEqual([7, null])
  })
})
