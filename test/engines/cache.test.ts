import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { cached } from './cache.ts'

let home: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'tooltrail-cache-'))
  vi.stubEnv('XDG_CACHE_HOME', home)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(home, { recursive: true })
})

test('suites that download an engine concurrently all use the folder that was filled first', async () => {
  const both = Promise.withResolvers<void>()
  let begun = 0
  const download = async (folder: string): Promise<void> => {
    if (++begun === 2) both.resolve()
    await both.promise
    await writeFile(join(folder, 'engine'), 'whole')
  }
  const [one, other] = await Promise.all([cached('engine-1', download), cached('engine-1', download)])
  expect(one).toBe(other)
  expect(await readFile(join(one, 'engine'), 'utf8')).toBe('whole')
  expect(await readdir(join(home, 'tooltrail'))).toEqual(['engine-1'])
})

test('a failed download leaves no files, and the next download succeeds', async () => {
  await expect(cached('engine-1', () => Promise.reject(new Error('no network')))).rejects.toThrow('no network')
  expect(await readdir(join(home, 'tooltrail'))).toEqual([])
  expect(await readdir(await cached('engine-1', (folder) => writeFile(join(folder, 'engine'), 'whole')))).toEqual([
    'engine',
  ])
})
