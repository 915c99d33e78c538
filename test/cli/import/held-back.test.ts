import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

const HOUR_S = 3_600

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'tooltrail-held-back-'))))
afterEach(() => rmSync(folder, { recursive: true }))

/** Writes a session file of Claude Code with an input and these completions. The file's time is `hoursAgo` hours ago. */
function write(session: string, hoursAgo: number, ...completions: readonly object[]): void {
  const path = join(folder, `${session}.jsonl`)
  const lines = [{ role: 'user', content: 'go' }, ...completions.map(completion)].map((message, second) => ({
    ...{ type: message.role, uuid: `${session}-${second}`, sessionId: session, message },
    timestamp: `2026-01-01T00:00:0${second}Z`,
  }))
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const time = Date.now() / 1_000 - hoursAgo * HOUR_S
  utimesSync(path, time, time)
}
const completion = (block: object, at: number) => ({
  role: 'assistant',
  id: `m${at}`,
  model: 'claude',
  content: [block],
})
const TEXT = { type: 'text', text: 'done' }
const CALL = { type: 'tool_use', id: 't1', name: 'Bash', input: {} }

/** Returns the output of the command in a dry run, which stores nothing. */
function dryRun(): string {
  const words = ['functions/cli/tooltrail.ts', 'import', 'claude-code', folder, '--dry-run']
  return spawnSync(process.execPath, words, { encoding: 'utf8' }).stdout
}

test('an import reports how many messages it holds back while their file is still changing', () => {
  write('a', 0, TEXT)
  expect(dryRun()).toBe(
    '1 file read; to take: 1 message in 1 session, with what is there already\n1 message held back: the file is still changing\n',
  )
})

test('an import counts held-back messages over all files that are still changing', () => {
  write('a', 0, TEXT)
  write('b', 1, CALL)
  write('c', 1, TEXT)
  expect(dryRun()).toMatch(/^3 files read; .*\n2 messages held back: 2 files are still changing\n$/u)
})

test('an import holds no messages back if no program writes to the files', () => {
  write('a', 1, TEXT)
  write('b', 25, CALL)
  expect(dryRun()).toMatch(/^2 files read; [^\n]*\n$/u)
})
