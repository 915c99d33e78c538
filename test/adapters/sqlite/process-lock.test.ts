/* Evidence, durability: A starting program does not take over the runs of living or suspended processes. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { forEachEndedProcess, lockProcess } from '../../../functions/adapters/sqlite/process-lock.ts'

const MODULE = JSON.stringify(new URL('../../../functions/adapters/sqlite/process-lock.ts', import.meta.url).href)
const ENDED = '00000000-0000-4000-8000-000000000000'
/** Number of locks that a process takes while a thread removes unlocked files. A new file is unlocked at first. */
const LOCKS = 300

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tooltrail-lock-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function endedProcesses(): string[] {
  const ids: string[] = []
  forEachEndedProcess(folder, (id) => ids.push(id))
  return ids
}

test('a process holds its lock while it is suspended, and loses it when it is killed', async () => {
  const source = `const { lockProcess } = await import(${MODULE})
    const { id } = lockProcess(process.argv[1])
    for (let count = 0; count < 3; count++) await new Promise((resolve) => setImmediate(() => resolve(globalThis.gc())))
    process.stdout.write(id)
    process.stdin.resume()`
  const child = spawn(process.execPath, ['--expose-gc', '--input-type=module', '-e', source, folder], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const id = String((await once(child.stdout, 'data')) as unknown)
  expect(endedProcesses()).toEqual([])
  child.kill('SIGSTOP')
  expect(endedProcesses()).toEqual([])
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(endedProcesses()).toEqual([id])
  expect(readdirSync(folder)).toEqual([])
})

test('locks of one process exclude one another, and a released lock leaves no file', () => {
  const locks = [lockProcess(folder), lockProcess(folder)]
  expect(new Set(locks.map(({ id }) => id)).size).toBe(2)
  expect(readdirSync(folder).toSorted()).toEqual(locks.map(({ id }) => `${id}.lock`).toSorted())
  expect(endedProcesses()).toEqual([])
  for (const lock of locks) lock.release()
  expect(readdirSync(folder)).toEqual([])
})

test('an ended process is handled by one caller at a time, and by another caller after a failure', () => {
  writeFileSync(join(folder, `${ENDED}.lock`), '')
  const visits: string[] = []
  forEachEndedProcess(folder, (id) => visits.push(id, ...endedProcesses()))
  expect(visits).toEqual([ENDED])
  writeFileSync(join(folder, `${ENDED}.lock`), '')
  const fail = () =>
    forEachEndedProcess(folder, () => {
      throw new Error('the disk is full')
    })
  expect(fail).toThrow('the disk is full')
  expect(endedProcesses()).toEqual([ENDED])
})

test('files that are not locks of a process remain', () => {
  writeFileSync(join(folder, 'note.txt'), '')
  writeFileSync(join(folder, `${ENDED}.lock`), 'not a database'.repeat(100))
  expect(endedProcesses()).toEqual([])
  expect(readdirSync(folder)).toHaveLength(2)
})

test('a folder that cannot be created causes an error', () => {
  writeFileSync(join(folder, 'file'), '')
  expect(() => lockProcess(join(folder, 'file'))).toThrow(/EEXIST/)
})

test('a file that another process removes before it is locked is replaced by a new file', async () => {
  const source = `import { workerData, parentPort } from 'node:worker_threads'
    const { forEachEndedProcess } = await import(${MODULE})
    parentPort.postMessage('ready')
    for (;;) forEachEndedProcess(workerData, () => undefined)`
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`), { workerData: folder })
  await once(worker, 'message')
  const kept: boolean[] = []
  try {
    for (let count = 0; count < LOCKS; count++) {
      const lock = lockProcess(folder)
      kept.push(existsSync(join(folder, `${lock.id}.lock`)))
      lock.release()
    }
  } finally {
    await worker.terminate()
  }
  expect(kept.filter((exists) => !exists)).toEqual([])
})
