/* Evidence, clients: The programs of the documentation run as they are shown. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Place } from './backend/backend.ts'
import { localBackend } from './backend/local-backend.ts'
import type { RunningProgram } from './backend/program.ts'
import { startProgram } from './backend/program.ts'

const ROOT = join(import.meta.dirname, '../..')
const programsOf = (page: string): string[] =>
  [...readFileSync(join(ROOT, 'docs', `${page}.md`), 'utf8').matchAll(/```ts\n([^]*?)```/g)].map(
    ([, program = '']) => program,
  )
const [chatCompletions = '', responses = '', agUi = ''] = programsOf('reference/clients')
const [ours = ''] = programsOf('reference/api')
const [tutorial = ''] = programsOf('guides/put-it-behind-your-app')

describe('the programs of the documentation, run unchanged', () => {
  let place: Place
  let program: RunningProgram
  beforeAll(async () => {
    place = await localBackend.open()
    program = await startProgram({ env: place.env })
  })
  afterAll(async () => {
    await program.kill()
    await place.remove()
  })

  const TIME = / said: \d{4}-\d\d-\d\dT/
  test.each([
    ['Chat Completions', chatCompletions, TIME],
    ['the tutorial', tutorial, TIME],
    ['Responses', responses, /you said "And in Lima\?"/],
    ['AG-UI', agUi, TIME],
    ['our own client', `import { createClient } from 'tooltrail/client'\n${ours}`, TIME],
  ])('print the expected output: %s', async (_name, code, printed) => {
    expect(code).toContain('http://127.0.0.1:3000')
    const words = [
      '--input-type=module-typescript',
      '--eval',
      code.replaceAll('http://127.0.0.1:3000', program.client.url),
    ]
    const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: ROOT })
    expect(stdout).toMatch(printed)
  })
})
