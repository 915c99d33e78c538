import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { onceFound, type Backend } from '../../e2e/backend/backend.ts'
import { randomNumbers } from '../../e2e/crashes/parts/random-numbers.ts'
import { exportLines } from '../../e2e/backend/exported.ts'
import { startProgram, type RunningProgram } from '../../e2e/backend/program.ts'
import { until } from '../../eventually.ts'
import { isWhole } from '../../whole.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const SESSIONS = isWhole ? 12 : 8
/** Minimum number of turns of a session, so that an import of the session needs more than one step. */
const MIN_TURNS = 60
const KILLS = isWhole ? 6 : 4

const nameOf = (session: number): string => `0b9f1c1e-1111-4222-8333-${String(session).padStart(12, '0')}`

/** Builds a turn with a call, in the form of Claude Code. */
function turn(session: number, number: number): string {
  const message = (type: string, place: number, content: unknown): string => {
    const id = `${session}-${number}-${place}`
    const about = { type, uuid: id, sessionId: nameOf(session), timestamp: '2025-06-01T10:00:00.000Z' }
    return `${JSON.stringify({ ...about, message: { id, role: type, model: 'made', content } })}\n`
  }
  const call = { type: 'tool_use', id: `call-${number}`, name: 'Bash', input: { command: `echo ${session} ${number}` } }
  return [
    message('user', 0, `question ${session} ${number}`),
    message('assistant', 1, [call]),
    message('user', 2, [{ type: 'tool_result', tool_use_id: call.id, content: `zebra${session}x${number}` }]),
  ].join('')
}

/** Imports session files while the command and the program are killed in turn, after a random number of sessions. */
export const killedImportsOn = (backend: Backend): void =>
  test(`an import on ${backend.name} whose command or program is killed, again and again, ends with every message once`, async () => {
    const turns = MIN_TURNS * (backend.slower === 1 ? 2 : 1)
    const folder = mkdtempSync(join(tmpdir(), 'tooltrail-killed-import-'))
    for (let session = 0; session < SESSIONS; session++) {
      const path = join(folder, `${nameOf(session)}.jsonl`)
      writeFileSync(path, Array.from({ length: turns }, (_, number) => turn(session, number)).join(''))
      utimesSync(path, 0, 0)
    }
    const place = await backend.open()
    const { env } = place
    const random = randomNumbers(20_260_103)
    let program = await startProgram({ env })
    try {
      for (let kill = 0; kill < KILLS; kill++) {
        const command = importing(folder, program)
        const ended = once(command, 'exit')
        const wanted = Math.floor(((kill + random()) * SESSIONS) / KILLS)
        await Promise.race([until(async () => (await sessionsOf(program)) > wanted), ended])
        if (kill % 2 === 0) command.kill('SIGKILL')
        else await program.kill()
        await ended
        if (program.hasEnded()) program = await startProgram({ env })
      }
      expect(await outcomeOf(importing(folder, program))).toMatchObject({ code: 0 })
      for (let session = 0; session < SESSIONS; session++) await expectWhole(program, session, turns)
      const again = await outcomeOf(importing(folder, program))
      expect(again).toMatchObject({ code: 0, reported: expect.stringContaining('new: 0 messages in 0 sessions') })
      await onceFound(backend, async () => {
        const { data } = await program.client.get<{ data: object[] }>('/v1/search?q=zebra7x57')
        expect(data[0]).toMatchObject({ session_id: `claude-code-${nameOf(7)}`, snippet: '«zebra7x57»' })
      })
    } finally {
      await program.kill()
      await place.remove()
      rmSync(folder, { recursive: true, force: true })
    }
  })

function importing(folder: string, { client }: RunningProgram): ChildProcess {
  const words = ['functions/cli/tooltrail.ts', 'import', 'claude-code', folder, '--url', client.url]
  return spawn(process.execPath, words, { cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'] })
}

async function outcomeOf(command: ChildProcess): Promise<{ readonly code: number | null; readonly reported: string }> {
  let reported = ''
  command.stdout?.on('data', (piece) => (reported += String(piece)))
  await once(command, 'close')
  return { code: command.exitCode, reported }
}

const sessionsOf = async ({ client }: RunningProgram): Promise<number> =>
  (await client.all('/v1/sessions?limit=100')).length

async function expectWhole({ client }: RunningProgram, session: number, turns: number): Promise<void> {
  const messages = await exportLines(async (path) => fetch(client.url + path), `claude-code-${nameOf(session)}`)
  const text = ({ parts }: (typeof messages)[number]): string => parts.map((part) => part.text ?? '').join('')
  expect(messages.map((message) => `${message.role} ${text(message)}`)).toEqual(
    Array.from({ length: turns }, (_, number) => [
      `user question ${session} ${number}`,
      'assistant ',
      `tool zebra${session}x${number}`,
    ]).flat(),
  )
}
