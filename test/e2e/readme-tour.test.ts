import type { ChildProcessByStdio } from 'node:child_process'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Place } from './backend/backend.ts'
import { localBackend } from './backend/local-backend.ts'
import type { RunningProgram } from './backend/program.ts'
import { startProgram } from './backend/program.ts'

const END = '--- end of step ---'
const read = (path: string): string => readFileSync(join(import.meta.dirname, '../..', path), 'utf8')
const section = (title: string): string => read('README.md').split(`\n## ${title}`)[1]?.split('\n## ')[0] ?? ''
/** Each step's commands and, where the page shows one, what they print. */
const stepsOf = (text: string) =>
  [...text.matchAll(/```sh\n([^]*?)```\n(?:```\n([^]*?)```)?/g)].map(([, commands = '', shown]) => ({
    commands,
    shown,
  }))
/** The `agents.json` that the team's section shows; the tour itself is shown without one. */
const team = /```json\n([^]*?)```/.exec(section('A team'))?.[1] ?? ''

const missing = ['bash', 'curl', 'jq'].filter((name) => spawnSync(name, ['--version']).error !== undefined)
if (missing.length > 0) console.log(`the README's tour is not tried: there is no ${missing.join(', no ')} here`)

/** Without what differs from run to run: times, places of ids in a log, and how deltas were cut and ordered. */
function comparable(output: string): string[] {
  const lines = output
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replaceAll(/demo_\d+_/g, 'demo_')
    .trim()
    .split('\n')
  if (!lines.every((line) => /^ *\d+ event: /.test(line))) return lines
  return [...new Set(lines.map((line) => line.replace(/^ *\d+ /, '')))].toSorted()
}

describe.skipIf(missing.length > 0)("the README's tour and the examples of the API, each step twice", () => {
  let place: Place
  let program: RunningProgram
  let shell: ChildProcessByStdio<Writable, Readable, null>
  let lines: AsyncIterator<string>
  let folder: string

  beforeAll(async () => {
    shell = spawn('bash', { stdio: ['pipe', 'pipe', 'inherit'] })
    lines = createInterface(shell.stdout)[Symbol.asyncIterator]()
    place = await localBackend.open()
    folder = await mkdtemp(join(tmpdir(), 'tooltrail-readme-'))
    program = await startProgram({ env: place.env })
  })
  afterAll(async () => {
    shell.stdin.end()
    if (shell.exitCode === null) await once(shell, 'exit')
    await program.kill()
    await place.remove()
    await rm(folder, { recursive: true, force: true })
  })

  async function run(commands: string): Promise<string> {
    if (commands.startsWith('kill -9')) {
      await program.kill('SIGKILL')
      program = await startProgram({ env: { ...place.env, PORT: new URL(program.client.url).port } })
      return ''
    }
    shell.stdin.write(`${commands.replaceAll('http://localhost:3000', program.client.url)}\necho '${END}'\n`)
    const output: string[] = []
    for (;;) {
      const { value, done } = await lines.next()
      if (done === true || value === END) return output.join('\n')
      output.push(value)
    }
  }

  async function tryTwice({ commands, shown }: ReturnType<typeof stepsOf>[number]): Promise<void> {
    const outputs = [await run(commands), await run(commands)]
    if (shown === undefined) expect(outputs).toEqual(['', ''])
    else expect(comparable(outputs[0] ?? '')).toEqual(comparable(shown))
    // A run that has been completed waits for nothing any more: the one line that says so differs.
    const again = comparable(outputs[1] ?? '').map((line) => line.replace(PAUSED, COMPLETED))
    expect(again).toEqual(comparable(outputs[0] ?? '').map((line) => line.replace(PAUSED, COMPLETED)))
  }

  test.each(stepsOf(section('A tour')))('$commands', tryTwice)

  test.each(stepsOf(read('docs/guides/examples.md')))('of docs/guides/examples.md: $commands', tryTwice)

  test.each(stepsOf(section('A team')))('with the agents of the page: $commands', async (step) => {
    expect(team).toContain('members')
    await program.kill('SIGTERM')
    const TOOLTRAIL_AGENTS = join(folder, 'agents.json')
    await writeFile(TOOLTRAIL_AGENTS, team)
    program = await startProgram({ env: { ...place.env, TOOLTRAIL_AGENTS, PORT: new URL(program.client.url).port } })
    await tryTwice(step)
  })
})

const PAUSED = '{"status":"paused","waiting":["ask_boss"]}'
const COMPLETED = '{"status":"completed","waiting":[]}'
