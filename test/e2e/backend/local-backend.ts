import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Backend } from './backend.ts'
import { until } from '../../eventually.ts'
import { storedRows } from '../../fixtures/stored-rows.ts'

/** SQLite and disk, with one folder per place. */
export const localBackend: Backend = {
  name: 'SQLite and disk',
  slower: 1,
  findsAtOnce: true,
  async open() {
    const folder = await mkdtemp(join(tmpdir(), 'tooltrail-'))
    return {
      env: { TOOLTRAIL_BACKEND: 'local', TOOLTRAIL_DATA: folder },
      texts: () => rowsOf(folder),
      objects: () => filesIn(join(folder, 'outputs')),
      fingerprint: () => fingerprintOf(folder),
      remove: () => rm(folder, { recursive: true, force: true }),
    }
  },
}

/** Lists the files of a folder. Lists them again if another session's folder was removed during the listing. */
async function filesIn(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return []
  for (let attempt = 1; ; attempt++) {
    try {
      return await readdir(folder, { recursive: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || attempt === 20) throw error
      await sleep(10)
    }
  }
}

/**
 * Returns a hash of every row of every table and of every file name. Waits until the words of all stored texts are indexed.
 */
async function fingerprintOf(folder: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const row of rowsOf(folder)) hash.update(row)
  const files = await readdir(folder, { recursive: true })
  return hash.update(files.toSorted().join('\n')).digest('hex')
}

async function* rowsOf(folder: string): AsyncGenerator<string, void> {
  const database = new DatabaseSync(join(folder, 'tooltrail.db'), { readOnly: true })
  try {
    const pending = database.prepare('SELECT 1 FROM historyMarks LIMIT 1')
    await until(() => pending.get() === undefined)
  } finally {
    database.close()
  }
  yield* storedRows(folder)
}
