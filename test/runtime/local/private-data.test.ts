/* Evidence, access: The data folder and the database's files become private, even if they existed before with other
 * permissions. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openDatabase } from '../../../functions/adapters/sqlite/database.ts'
import { privateData } from '../../../functions/runtime/local/private-data.ts'

let root: string
let umask: number
beforeEach(() => {
  umask = process.umask(0)
  root = mkdtempSync(join(tmpdir(), 'tooltrail-private-'))
})
afterEach(() => {
  process.umask(umask)
  rmSync(root, { recursive: true })
})

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

function open(folder: string): { readonly modes: string[]; readonly warnings: unknown[] } {
  const warnings: unknown[] = []
  const path = privateData(folder, { warn: (_text, fields) => void warnings.push(fields) })
  const database = openDatabase(path)
  database.exec('CREATE TABLE IF NOT EXISTS t (a)')
  database.exec('INSERT INTO t VALUES (1)')
  const modes = [folder, path, `${path}-wal`, `${path}-shm`].map(modeOf)
  database.close()
  return { modes, warnings }
}

const PRIVATE = ['700', '600', '600', '600']

test('new files and folders are private, whatever the umask, without a warning', () => {
  expect(open(join(root, 'new', 'data'))).toEqual({ modes: PRIVATE, warnings: [] })
  expect(open(join(root, 'new', 'data'))).toEqual({ modes: PRIVATE, warnings: [] })
})

test('files that others could read become private, each with a warning of its path and mode', () => {
  const folder = join(root, 'data')
  mkdirSync(folder, { mode: 0o755 })
  open(folder)
  const path = join(folder, 'tooltrail.db')
  chmodSync(folder, 0o777)
  chmodSync(path, 0o644)
  writeFileSync(`${path}-wal`, '', { mode: 0o666 })
  const { modes, warnings } = open(folder)
  expect(modes).toEqual(PRIVATE)
  expect(warnings).toEqual([
    { path: folder, before: '777', now: '700' },
    { path, before: '644', now: '600' },
    { path: `${path}-wal`, before: '666', now: '600' },
  ])
})

test('an unusable or shared folder is refused with unchanged permissions', () => {
  const folder = join(root, 'data')
  mkdirSync(folder, { mode: 0o755 })
  symlinkSync(join(root, 'missing', 'file'), join(folder, 'tooltrail.db'))
  expect(() => open(folder)).toThrow(/ENOENT/)
  expect(modeOf(folder)).toBe('755')
  const shared = join(root, 'shared')
  mkdirSync(shared)
  chmodSync(shared, 0o1777)
  expect(() => open(shared)).toThrow('is shared by all users: name a folder of its own')
  expect(modeOf(shared)).toBe('777')
})

test('stricter permissions remain unchanged', () => {
  const folder = join(root, 'data')
  open(folder)
  chmodSync(join(folder, 'tooltrail.db'), 0o400)
  expect(privateData(folder, { warn: () => undefined })).toBe(join(folder, 'tooltrail.db'))
  expect(modeOf(join(folder, 'tooltrail.db'))).toBe('400')
})
