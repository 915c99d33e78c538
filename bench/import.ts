import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openDatabase, readOne } from '../functions/adapters/sqlite/database.ts'
import { startProgram, type RunningProgram } from '../test/e2e/backend/program.ts'
import { hasRecordings } from '../test/search-corpus.ts'
import { makeClaudeFiles } from './made/claude-files.ts'
import { printTable } from './report.ts'

/**
 * `npx node bench/import.ts --megabytes 1024`: measures how `tooltrail import` imports Claude Code's session files into
 * a running program, until search finds everything. Then repeats the import, which finds no new messages. The files are
 * generated from the recorded conversations. The resources of processes are measured only on Linux.
 */
const { values } = parseArgs({ options: { megabytes: { type: 'string', default: '30' } } })
const MEGABYTE = 1_000_000
/** Bytes per kB in Linux's reports. */
const KILOBYTE = 1_024
const POLL_INTERVAL_MS = 250
const root = join(import.meta.dirname, '..')

if (!hasRecordings()) throw new Error('the recorded conversations are not here')
const folder = mkdtempSync(join(tmpdir(), 'tooltrail-import-bench-'))
try {
  await report()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function report(): Promise<void> {
  const files = join(folder, 'projects')
  const { bytes, files: count } = makeClaudeFiles(files, Number(values.megabytes) * MEGABYTE)
  const data = join(folder, 'data')
  const program = await startProgram({ env: { TOOLTRAIL_DATA: data } })
  try {
    const first = await importAll(program, files)
    const waited = await untilIndexed(join(data, 'tooltrail.db'))
    const taken = takenBy(program)
    const again = await importAll(program, files)
    const entries = countIn(join(data, 'tooltrail.db'), 'SELECT count(*) AS n FROM historyDocuments')
    const seconds = first.seconds + waited
    printTable(
      `Import of ${(bytes / MEGABYTE).toFixed(0)} MB in ${count} files`,
      ['', 'wall s', 'MB/s', 'processor s', 'of the program', 'memory MB', 'of the program', 'of both'],
      [
        row('imported', first.seconds, bytes, first, taken),
        row('and found', seconds, bytes, first, taken),
        row('again', again.seconds, bytes, again, takenBy(program)),
      ],
    )
    console.log(
      `${entries} entries, ${Math.round(entries / seconds)} a second; ${first.reported.trim()}; again: ${again.reported.trim()}`,
    )
    console.log(`processor s of the program's threads: ${busiestThreads(program.pid).join(', ')}`)
    console.log(
      `the data folder's database takes ${(statSync(join(data, 'tooltrail.db')).size / MEGABYTE).toFixed(0)} MB`,
    )
  } finally {
    await program.kill('SIGTERM')
  }
}

interface Taken {
  readonly processor: number
  readonly memory: number
}

interface Imported extends Taken {
  readonly seconds: number
  readonly reported: string
  /** Maximum memory of both processes together, in MB. Memory that both share is counted once. */
  readonly together: number
}

function row(name: string, seconds: number, bytes: number, command: Imported, program: Taken): (string | number)[] {
  const { processor, memory, together } = command
  return [name, seconds, bytes / MEGABYTE / seconds, processor, program.processor, memory, program.memory, together]
}

async function importAll(program: RunningProgram, files: string): Promise<Imported> {
  const { url } = program.client
  const begun = performance.now()
  const argv = ['functions/cli/tooltrail.ts', 'import', 'claude-code', files, '--url', url]
  const command = spawn(process.execPath, argv, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(command, 'exit')
  let reported = ''
  command.stdout?.on('data', (piece) => (reported += String(piece)))
  let taken: Taken = { processor: 0, memory: 0 }
  let together = 0
  while (command.exitCode === null) {
    taken = takenBy(command, taken)
    together = Math.max(together, shareOf(command) + shareOf(program))
    await Promise.race([ended, sleep(POLL_INTERVAL_MS)])
  }
  if (command.exitCode !== 0) throw new Error(`the command ended with ${command.exitCode}`)
  return { ...taken, seconds: (performance.now() - begun) / 1_000, reported, together }
}

/** Waits until no message is marked as not indexed. Returns the duration in seconds. */
async function untilIndexed(path: string): Promise<number> {
  const begun = performance.now()
  while (countIn(path, 'SELECT count(*) AS n FROM historyMarks') > 0) await sleep(200)
  return (performance.now() - begun) / 1_000
}

function countIn(path: string, sql: string): number {
  const database = openDatabase(path)
  try {
    return readOne<{ n: number }>(database, sql)?.n ?? 0
  } finally {
    database.close()
  }
}

/** Lists the threads with the most processor time: their names and seconds. */
function busiestThreads(pid: number): string[] {
  const folder = `/proc/${pid}/task`
  const threads = readdirSync(folder).map((thread) => {
    const [, name = '', rest = ''] = /\((.*)\) (.*)/su.exec(readFileSync(join(folder, thread, 'stat'), 'utf8')) ?? []
    const fields = rest.split(' ')
    return { name, seconds: (Number(fields[11]) + Number(fields[12])) / 100 }
  })
  const busiest = threads.toSorted((left, right) => right.seconds - left.seconds).slice(0, 4)
  return busiest.map(({ name, seconds }) => `${name} ${seconds.toFixed(1)}`)
}

/**
 * Reads the processor time of a process in seconds, and its maximum memory in MB. If the process has ended, returns
 * `before`.
 */
function takenBy({ pid }: Process, before: Taken = { processor: 0, memory: 0 }): Taken {
  const fields = ofProcess(pid, 'stat').replace(/^.*\)/su, '').trim().split(' ')
  const kilobytes = Number(/VmHWM:\s+(\d+)/u.exec(ofProcess(pid, 'status'))?.[1] ?? 0)
  // The fields count hundredths of a second.
  const processor = (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / 100
  return {
    processor: Math.max(before.processor, processor),
    memory: Math.max(before.memory, (kilobytes * KILOBYTE) / MEGABYTE),
  }
}

/** Reads the current memory of a process in MB. Memory that several processes use is divided among them. */
function shareOf({ pid }: Process): number {
  const kilobytes = Number(/^Pss:\s+(\d+)/mu.exec(ofProcess(pid, 'smaps_rollup'))?.[1] ?? 0)
  return (kilobytes * KILOBYTE) / MEGABYTE
}

interface Process {
  readonly pid?: number | undefined
}

/** Reads a file of a process in /proc. Returns an empty text if the process has ended. */
function ofProcess(pid: number | undefined, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return ''
    throw error
  }
}
