import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { spawn } from '@lydell/node-pty'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startProgram } from '../e2e/backend/program.ts'
import type { RunningProgram } from '../e2e/backend/program.ts'

const folder = mkdtempSync(join(tmpdir(), 'tooltrail-terminal-'))
let program: RunningProgram
beforeAll(async () => {
  program = await startProgram({ env: { TOOLTRAIL_DATA: folder } })
})
afterAll(async () => {
  await program.kill()
  rmSync(folder, { recursive: true })
})

/** Runs the command at a pseudo-terminal. */
function sitDown(words: readonly string[], { flags = [] as string[], env = {} } = {}) {
  const terminal = spawn(process.execPath, [...flags, 'scripts/tooltrail.mjs', ...words], {
    cols: 200,
    rows: 50,
    env: { ...process.env, TOOLTRAIL_URL: program.client.url, NO_COLOR: '1', ...env },
  })
  let raw = ''
  let read = 0
  const shown = (): string => stripVTControlCharacters(raw)
  terminal.onData((piece) => (raw += piece))
  const exit = new Promise<number>((resolve) =>
    // Computes the exit code as a shell does: 128 plus the signal, if a signal ended the command.
    terminal.onExit(({ exitCode, signal = 0 }) => resolve(signal === 0 ? exitCode : 128 + signal)),
  )
  return {
    exit,
    type: (keys: string) => terminal.write(keys),
    end: () => terminal.kill('SIGKILL'),
    /** Waits until this text appears after the previously awaited text. */
    async sees(text: string | RegExp): Promise<void> {
      const rest = () => shown().slice(read)
      await expect.poll(rest).toMatch(text)
      const [found = text] = typeof text === 'string' ? [] : (rest().match(text) ?? [])
      read += rest().indexOf(String(found)) + String(found).length
    },
  }
}

describe('chat at a terminal', () => {
  test('asks, streams, shows calls, requests a decision, stops a run with Ctrl-C, and exits with Ctrl-D', async () => {
    const chat = sitDown(['chat'])
    try {
      await chat.sees('Ctrl-C stops a run')
      await chat.sees('You')
      chat.type('use current_time with {"timezone": "Asia/Tokyo"}\r')
      await chat.sees('→ current_time(timezone="Asia/Tokyo")')
      await chat.sees('- current_time said:')
      await chat.sees('You')
      chat.type('publish the report\r')
      await chat.sees('Allow this call? demo_publish')
      chat.type('y')
      await chat.sees('← demo_publish completed')
      await chat.sees('You')
      chat.type('wait 50 seconds\r')
      await chat.sees('→ demo_wait(seconds=50)')
      chat.type('\u0003')
      await chat.sees('stopping the run')
      await chat.sees('cancelled')
      await chat.sees('You')
      chat.type('\u0004')
      await chat.sees('Go on later with: tooltrail chat --session')
      expect(await chat.exit).toBe(0)
    } finally {
      chat.end()
    }
    const [session] = await program.client.all<{ readonly id: string }>('/v1/sessions')
    const runs = await program.client.all<{ readonly status: string }>(`/v1/sessions/${session?.id ?? ''}/runs`)
    expect(runs.map(({ status }) => status).toSorted()).toEqual(['cancelled', 'completed', 'completed'])
  })
})

/** Makes a Node process report an old version. Its child processes report the real version. */
const OLD = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })"

describe('commands at a terminal', () => {
  test.each([
    ['the pinned Node', []],
    ['an old Node, which starts the pinned one', ['--import', `data:text/javascript,${encodeURIComponent(OLD)}`]],
  ])('import shows its progress within a file, and Ctrl-C ends it as interrupted: %s', async (_name, flags) => {
    const file = join(folder, 'many.jsonl')
    const messages = [
      { role: 'user', content: 'how many crates' },
      { role: 'assistant', content: 'two' },
    ]
    writeFileSync(file, `${JSON.stringify({ messages })}\n`.repeat(20_000))
    const bring = sitDown(['import', 'openai', file], { flags })
    try {
      await bring.sees(/\r░{30} 0 of 1 files, [1-9]\d* messages/)
      bring.type('\u0003')
      expect(await bring.exit).toBe(130)
    } finally {
      bring.end()
    }
  })

  test('rebuild shows its progress', async () => {
    const rebuild = sitDown(['rebuild'], { env: { TOOLTRAIL_DATA: folder } })
    try {
      await rebuild.sees(' messages')
      await rebuild.sees('that no longer exist')
      expect(await rebuild.exit).toBe(0)
    } finally {
      rebuild.end()
    }
  })
})
