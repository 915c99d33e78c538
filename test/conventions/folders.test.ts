import { execFileSync } from 'node:child_process'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'

const MAX_FILES = 20
/** Folders that are flat by design: each file has one interface, one decision or one contract. */
const LISTS = ['functions/ports', 'docs/design/decisions', 'test/contracts', 'test/known-failures']

test('a folder has at most 20 files', () => {
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
  const counts = new Map<string, number>()
  for (const file of files.split('\n').filter((path) => path.includes('/')))
    counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)
  const large = [...counts].filter(([folder, count]) => count > MAX_FILES && !LISTS.includes(folder))
  expect(large).toEqual([])
})
