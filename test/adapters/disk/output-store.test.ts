/* Evidence, durability: An output is stored completely or not at all. */
/* Evidence, durability: On one machine, no file contains texts of a deleted session some seconds after its deletion. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createDiskOutputStore } from '../../../functions/adapters/disk/output-store.ts'
import { nextId } from '../../../functions/domain/ids.ts'
import { outputStoreContract } from '../../contracts/output-store.ts'

const made: string[] = []
const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-outputs-'))
  made.push(folder)
  return folder
}
afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true })
})

const STORE_URL = JSON.stringify(new URL('../../../functions/adapters/disk/output-store.ts', import.meta.url).href)
const key = { tenant: 'default', session: 'Session:1' }
const text = (content: string): Uint8Array => new TextEncoder().encode(content)

outputStoreContract('disk', () => createDiskOutputStore({ folder: join(newFolder(), 'deep', 'outputs') }))

test('file paths contain no tenant and no session id', async () => {
  const folder = newFolder()
  await createDiskOutputStore({ folder }).put(key, nextId(undefined, 1), text('x'), 'text/plain')
  const paths = readdirSync(folder, { recursive: true }).map(String)
  expect(paths.filter((path) => /default|Session/i.test(path))).toEqual([])
  expect(paths).toContainEqual(expect.stringMatching(/^[0-9a-f]{64}$/))
})

test('all files and folders are readable for this user only, whatever the umask', async () => {
  const folder = newFolder()
  const before = process.umask(0)
  await createDiskOutputStore({ folder: join(folder, 'outputs') })
    .put(key, nextId(undefined, 1), text('x'), 'text/plain')
    .finally(() => process.umask(before))
  for (const path of readdirSync(folder, { recursive: true }).map((one) => join(folder, String(one)))) {
    const { mode } = statSync(path)
    expect(mode & 0o077, path).toBe(0)
  }
})

test('a stored or refused write leaves no temporary file', async () => {
  const folder = newFolder()
  const store = createDiskOutputStore({ folder })
  const name = nextId(undefined, 1)
  await store.put(key, name, text('one'), 'text/plain')
  await expect(store.put(key, name, text('two'), 'text/plain')).rejects.toThrow('taken')
  expect(readdirSync(join(folder, 'incoming'))).toEqual([])
})

test('the first write of a process removes temporary files older than an hour, and keeps newer ones', async () => {
  const folder = newFolder()
  const incoming = join(folder, 'incoming')
  mkdirSync(incoming)
  writeFileSync(join(incoming, 'old.tmp'), 'half')
  writeFileSync(join(incoming, 'young.tmp'), 'half')
  const twoHoursAgo = Date.now() / 1000 - 7200
  utimesSync(join(incoming, 'old.tmp'), twoHoursAgo, twoHoursAgo)
  await createDiskOutputStore({ folder }).put(key, nextId(undefined, 1), text('x'), 'text/plain')
  expect(readdirSync(incoming)).toEqual(['young.tmp'])
})

test('the temporary file of a killed writer is removed with its session; files of other sessions remain', async () => {
  const folder = newFolder()
  const incoming = join(folder, 'incoming')
  const script = `
    import { createDiskOutputStore } from ${STORE_URL}
    const bytes = Buffer.alloc(300_000_000, 'secret ')
    await createDiskOutputStore({ folder: process.argv[1] }).put(${JSON.stringify(key)}, '${nextId(undefined, 1)}', bytes, 'text/plain')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, folder])
  const left = (): string[] => (existsSync(incoming) ? readdirSync(incoming) : [])
  await expect.poll(() => left().length, { timeout: 10_000, interval: 1 }).toBe(1)
  child.kill('SIGKILL')
  await once(child, 'close')
  expect(left()).toHaveLength(1)
  writeFileSync(join(incoming, `${'0'.repeat(64)}.x.tmp`), 'half')
  expect(await createDiskOutputStore({ folder }).removeAll(key)).toBe(0)
  expect(left()).toEqual([`${'0'.repeat(64)}.x.tmp`])
})

test('reading a truncated file, or a file without a header, fails instead of returning a shorter output', async () => {
  const folder = newFolder()
  const store = createDiskOutputStore({ folder })
  const name = nextId(undefined, 1)
  await store.put(key, name, text('x'.repeat(1000)), 'text/plain')
  const path =
    readdirSync(folder, { recursive: true })
      .map(String)
      .find((entry) => entry.endsWith(name)) ?? ''
  truncateSync(join(folder, path), 600)
  await expect(store.read(key, name)).rejects.toMatchObject({ code: 'storage_failed' })
  expect(await store.read(key, name, { start: 0, end: 99 })).toHaveLength(100)
  truncateSync(join(folder, path), 10)
  await expect(store.stat(key, name)).rejects.toMatchObject({ code: 'storage_failed' })
})

test('a folder that cannot be created causes an error that shows no path of this machine', async () => {
  const folder = newFolder()
  writeFileSync(join(folder, 'file'), '')
  const store = createDiskOutputStore({ folder: join(folder, 'file', 'outputs') })
  const failure: unknown = await store.put(key, nextId(undefined, 1), text('x'), 'text/plain').catch((e: unknown) => e)
  expect(failure).toMatchObject({ code: 'storage_failed' })
  expect(String(failure)).not.toContain(folder)
})

test('two processes that write the same names at once store each object once, and each object is complete', async () => {
  const folder = newFolder()
  const names = Array.from({ length: 30 }, (_, at) => nextId(undefined, at + 1))
  const script = `
    import { createDiskOutputStore } from ${STORE_URL}
    const [folder, who, ...names] = process.argv.slice(1)
    const store = createDiskOutputStore({ folder })
    let won = 0
    for (const name of names)
      await store.put({ tenant: 'default', session: 'Session:1' }, name, new TextEncoder().encode(who.repeat(20_000)), 'text/plain')
        .then(() => won++, (error) => { if (!/taken/.test(error.message)) throw error })
    console.log(won)`
  const writers = ['a', 'b'].map(async (who) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, folder, who, ...names])
    let printed = ''
    child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()))
    const [code] = (await once(child, 'close')) as [number]
    expect(code).toBe(0)
    return Number(printed)
  })
  const won = await Promise.all(writers)
  expect((won[0] ?? 0) + (won[1] ?? 0)).toBe(names.length)
  const store = createDiskOutputStore({ folder })
  for (const name of names) {
    const content = new TextDecoder().decode(await store.read(key, name))
    expect(['a'.repeat(20_000), 'b'.repeat(20_000)]).toContain(content)
  }
})
