/* Evidence, clients: `npm pack` gives a package with a working command and a typed client. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

/** Code that a user of the package may write and compile. */
const PROGRAM = `
import { createClient } from 'tooltrail/client'
import { ApiProblem } from 'tooltrail/client/problem'
import type { Session } from 'tooltrail/client/types'

const refuse = async () => Response.json({ status: 404, detail: 'none' }, { status: 404 })
try {
  const session: Session = await createClient({ url: 'http://127.0.0.1:1', fetch: refuse }).readSession('s')
  console.log(session.id)
} catch (error) {
  console.log(error instanceof ApiProblem ? error.name : error)
}
`

/** Like `PROGRAM`, but for the AI SDK. The types of the AI SDK compile only with `skipLibCheck`. */
const CHAT = `
import { ChatTransport } from 'tooltrail/ai-sdk'

const fetch = async () => Response.json({ status: 404, detail: 'no such chat' }, { status: 404 })
const transport: ChatTransport = new ChatTransport({ url: 'http://127.0.0.1:1', key: 'tt_', fetch })
await transport.reconnectToStream({ chatId: 'c' }).catch((error: Error) => console.log(error.message))
`

test(
  'the package of npm pack works after installation, and npm pack does not change the checkout',
  { timeout: 600_000 },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'tooltrail-packed-'))
    try {
      const before = execFileSync('git', ['status', '--porcelain'], { encoding: 'utf8' })
      const printed = execFileSync('npm', ['pack', '--pack-destination', folder], { encoding: 'utf8', stdio: 'pipe' })
      expect(execFileSync('git', ['status', '--porcelain'], { encoding: 'utf8' })).toBe(before)
      const installed = join(folder, 'node_modules/tooltrail')
      mkdirSync(installed, { recursive: true })
      execFileSync('tar', [
        'xzf',
        join(folder, printed.trim().split('\n').at(-1) ?? ''),
        '--strip-components=1',
        '-C',
        installed,
      ])
      // Links the packages that the installed program needs.
      symlinkSync(resolve('node_modules'), join(installed, 'node_modules'))
      const env = { ...process.env, TOOLTRAIL_DATA: join(folder, 'data'), TOOLTRAIL_URL: '', NO_COLOR: '1' }
      const run = (...words: string[]): string =>
        execFileSync(process.execPath, [join(installed, 'scripts/tooltrail.mjs'), ...words], {
          encoding: 'utf8',
          env,
          cwd: folder,
          stdio: 'pipe',
        })
      expect(run('chat', '-p', 'use current_time with {"timezone": "UTC"}')).toMatch(/current_time said: /)
      const compiler = ['--noEmit', '--strict', '--module', 'nodenext', '--lib', 'es2024,dom,dom.iterable']
      const use = (file: string, code: string, ...options: string[]): string => {
        writeFileSync(join(folder, file), code)
        const argv = [resolve('node_modules/typescript/bin/tsc'), ...compiler, ...options, file]
        execFileSync(process.execPath, argv, { cwd: folder, stdio: 'pipe' })
        return execFileSync(process.execPath, [file], { encoding: 'utf8', cwd: folder })
      }
      expect(use('program.mts', PROGRAM)).toBe('ApiProblem\n')
      expect(use('chat.mts', CHAT, '--skipLibCheck')).toContain('no such chat')
      // Another thread has indexed the call.
      expect(run('search', 'timezone')).toContain('TOOL CALL: current_time(«timezone»="UTC")')
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
)
