import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync, symlinkSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { localBackend } from './local-backend.ts'
import { startProgram } from './program.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const END = '--- end of step ---'

/** The commands of one block of a page and the output that the page shows below them. */
export interface Step {
  readonly commands: string
  readonly shown?: string | undefined
}

export const readPage = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** Shell blocks of a page, except those that install or start the program, because the test itself does so. */
export const stepsOf = (text: string): Step[] =>
  [...text.matchAll(/```sh\n([^]*?)```\n(?:\n?```\n([^]*?)```)?/g)]
    .map(([, commands = '', shown]) => ({ commands, shown }))
    .filter(({ commands }) => !commands.startsWith('npm '))

/** The line of a tool result. It goes to standard error, so it may appear within the next round's text. */
const RESULT = /← [^\n]*(?:\n|$)/g

/**
 * Returns the lines of an output without values that differ between two executions. These values are times, ids, durations,
 * token counts, further pages, and the splitting of deltas.
 */
function comparable(output: string): string[] {
  const results = output.match(RESULT) ?? []
  const lines = `${output.replaceAll(RESULT, '').trimEnd()}\n${results.join('')}`
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?/g, '<time>')
    .replaceAll(/(?<![0-9A-Za-z])[0-9A-HJKMNP-TV-Z]{26}\b/g, '<id>')
    .replaceAll(/completed \d+(?:\.\d+)? m?s/g, 'completed <duration>')
    .replaceAll(/\d+ tokens/g, '<tokens>')
    .replaceAll(/\([A-Z][a-z]+day\)/g, '(<day>)')
    .replaceAll(/demo_\d+_/g, 'demo_')
    .replaceAll(/^There (?:is|are) more: .*$/gm, '')
    .trim()
    .split('\n')
    .map((line) => line.trimEnd().replaceAll(/ {2,}/g, '  '))
  if (!lines.every((line) => /^ *\d+ event: /.test(line))) return lines
  return [...new Set(lines.map((line) => line.replace(/^ *\d+ /, '')))].toSorted()
}

/** Returns the output that the page shows below a step, comparable with the printed output. */
export const linesOf = ({ shown = '' }: Step): string[] => comparable(shown)

/** Opens a folder that looks like a fresh clone. It has a running program, and a shell for the commands of a page. */
export async function openClone() {
  const place = await localBackend.open()
  const folder = await mkdtemp(join(tmpdir(), 'tooltrail-clone-'))
  for (const name of readdirSync(ROOT))
    if (!/^(?:agents\.json|\.git|\.tooltrail)$/.test(name)) symlinkSync(join(ROOT, name), join(folder, name))
  const agents = join(folder, 'agents.json')
  let program = await startProgram({ env: place.env })
  const shell = spawn('bash', {
    cwd: folder,
    env: { ...process.env, ...place.env, NO_COLOR: '1', npm_config_update_notifier: 'false' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface(shell.stdout)[Symbol.asyncIterator]()
  shell.stdin.write('exec 2>&1\n')

  async function restart(signal: 'SIGKILL' | 'SIGTERM', env: Record<string, string> = {}): Promise<void> {
    const { port } = new URL(program.client.url)
    await program.kill(signal)
    program = await startProgram({ env: { ...place.env, ...env, PORT: port } })
  }

  /** Runs the commands of a step. Restarts the program for `kill -9`, and when `agents.json` changes. */
  async function run(commands: string): Promise<string> {
    if (commands.startsWith('kill -9')) {
      await restart('SIGKILL')
      return ''
    }
    // The input of the commands is /dev/null. Otherwise `chat`, which takes a pipe as its input, would read the rest of the script.
    const script = commands.replaceAll('http://localhost:3000', program.client.url)
    shell.stdin.write(`{\n${script}\n} </dev/null\necho; echo '${END}'\n`)
    const output: string[] = []
    for (;;) {
      const { value, done } = await lines.next()
      if (done === true || value === END) break
      output.push(value)
    }
    if (commands.startsWith('cat > agents.json')) await restart('SIGTERM', { TOOLTRAIL_AGENTS: agents })
    return output.join('\n').trim()
  }

  return {
    /** Runs a step; returns the lines that it prints, comparable with those that the page shows. */
    run: async ({ commands }: Step): Promise<string[]> => comparable(await run(commands)),
    async close(): Promise<void> {
      shell.stdin.end()
      if (shell.exitCode === null) await once(shell, 'exit')
      await program.kill()
      await place.remove()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
