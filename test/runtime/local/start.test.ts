/* Evidence, durability: A program that is stopped during a completion releases its lease. A program that cannot listen
 * executes no runs. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, test } from 'vitest'
import { readSettings } from '../../../functions/runtime/settings/config.ts'
import { startLocal } from '../../../functions/runtime/local/start.ts'

const folder = mkdtempSync(join(tmpdir(), 'tooltrail-start-'))
afterAll(() => rmSync(folder, { recursive: true }))

function start(variables: Readonly<Record<string, string>>): ReturnType<typeof startLocal> {
  return startLocal(
    readSettings({ PORT: '0', TOOLTRAIL_DATA: join(folder, 'data'), LOG_LEVEL: 'silent', ...variables }),
  )
}

function agentsFile(agents: object): string {
  const path = join(folder, 'agents.json')
  writeFileSync(path, JSON.stringify({ agents }))
  return path
}

describe('the start of the program', () => {
  test('fails for an invalid model name, and lists the valid providers', async () => {
    await expect(start({ MODEL: 'foo/bar' })).rejects.toThrow(
      'the model of agent default: "foo/bar" is not the name of a model: use anthropic/<model>',
    )
    const TOOLTRAIL_AGENTS = agentsFile({ scribe: { model: 'opnai/gpt-x' } })
    await expect(start({ TOOLTRAIL_AGENTS })).rejects.toThrow(
      'the model of agent scribe: "opnai/gpt-x" is not the name of a model',
    )
  })

  test('fails for an address in use', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => void other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    await expect(start({ PORT: String(port) })).rejects.toMatchObject({
      name: 'SettingsError',
      message: expect.stringContaining('PORT, HOST: listen EADDRINUSE'),
    })
    other.close()
  })

  test('fails without leaving work behind: the process exits with 1', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => void other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    const program = join(import.meta.dirname, '../../../functions/handlers/local.ts')
    const env = { ...process.env, PORT: String(port), TOOLTRAIL_DATA: join(folder, 'taken') }
    const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'ignore', 'pipe'] })
    const reported = text(child.stderr)
    const [code] = (await once(child, 'exit')) as [number | null]
    expect(code).toBe(1)
    expect(await reported).toContain('Tooltrail cannot start. PORT, HOST: listen EADDRINUSE')
    other.close()
  })

  test('fails for a data folder that is a file or whose database is invalid', async () => {
    const file = join(folder, 'file')
    writeFileSync(file, 'not a folder')
    await expect(start({ TOOLTRAIL_DATA: file })).rejects.toThrow(`TOOLTRAIL_DATA: ${file} cannot be used: EEXIST`)
    writeFileSync(
      join(folder, 'tooltrail.db'),
      'not a database, and longer than the header that one would have. '.repeat(9),
    )
    await expect(start({ TOOLTRAIL_DATA: folder })).rejects.toThrow('file is not a database')
  })
})

test('an agent without a key for its model is reported at the start and blocks no other agent', async () => {
  const lines: string[] = []
  const { write } = process.stderr
  process.stderr.write = (line) => lines.push(String(line)) > 0
  const server = await start({ MODEL: 'anthropic/claude-x', LOG_LEVEL: 'warn' }).finally(
    () => (process.stderr.write = write),
  )
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    expect.objectContaining({
      level: 'warn',
      message: 'an agent cannot run: no credentials for anthropic models: set ANTHROPIC_API_KEY',
      agent: 'default',
    }),
  ])
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
  await server.close()
})
