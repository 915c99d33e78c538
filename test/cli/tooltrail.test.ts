/* Evidence, house: Commands end with documented exit codes, and print their usage for missing arguments. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startProgram } from '../e2e/backend/program.ts'
import type { RunningProgram } from '../e2e/backend/program.ts'

const folder = mkdtempSync(join(tmpdir(), 'tooltrail-cli-'))
let program: RunningProgram
beforeAll(async () => {
  program = await startProgram({ env: { TOOLTRAIL_DATA: folder } })
})
afterAll(async () => {
  await program.kill()
  rmSync(folder, { recursive: true })
})

interface Outcome {
  readonly code: number | null
  readonly out: string
  readonly error: string
}

/** Runs the command without a terminal, like a script. */
async function tooltrail(words: readonly string[], { input = '', env = {} } = {}): Promise<Outcome> {
  const child = spawn(process.execPath, ['scripts/tooltrail.mjs', ...words], {
    env: { ...process.env, TOOLTRAIL_URL: program.client.url, NO_COLOR: '1', ...env },
  })
  child.stdin.end(input)
  const [out, error, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { code: code as number | null, out, error }
}

const CLOSED_PORT = 'there is no session nobody. List them: tooltrail sessions\n'

const lines = (out: string): Record<string, unknown>[] =>
  out
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

const sessionOf = ({ out }: Outcome): string => String(lines(out)[0]?.['session_id'])

describe('tooltrail', () => {
  test('answers one message: the response alone on standard output, calls on standard error', async () => {
    const said = await tooltrail(['chat', '-p', 'use current_time with {"timezone": "UTC"}'])
    expect(said.code).toBe(0)
    expect(said.out).toMatch(/^Demo model[^\n]*\nDemo model[^\n]*\n- current_time said: /)
    expect(said.error).toMatch(/→ current_time\(timezone="UTC"\)\n← current_time completed \d+ ms: /)
  })

  test('appends piped text to the message, prints events as lines, and continues the last session', async () => {
    const said = await tooltrail(['chat', '--json', 'what', 'time', 'is', 'it'], { input: 'in Europe/Berlin\n' })
    const events = lines(said.out)
    expect([said.code, events[0]?.['type'], events.at(-1)?.['type']]).toEqual([0, 'run.started', 'run.completed'])
    expect(events[0]).toMatchObject({ message: { parts: [{ text: 'what time is it\n\nin Europe/Berlin\n' }] } })
    const again = await tooltrail(['chat', '--json', '--continue', 'what time is it'])
    expect(sessionOf(again)).toBe(sessionOf(said))
  })

  test('exits with code 3 and a hint how to continue when a run waits for a person', async () => {
    const said = await tooltrail(['chat', '--json', 'publish the blue report'])
    expect(said.code).toBe(3)
    const session = sessionOf(said)
    expect(said.error).toBe(
      `The run waits for an approval of demo_publish. Continue in: tooltrail chat --session ${session}\n`,
    )
    expect((await tooltrail(['status'])).out).toMatch(/paused sessions {3}1\n/)
  })

  test('finds, lists and shows messages, for people and as lines of JSON', async () => {
    const session = sessionOf(await tooltrail(['chat', '--json', 'use current_time with {"timezone": "Asia/Tokyo"}']))
    const found = await tooltrail(['search', 'Tokyo', '--role', 'tool_call', '--session', session])
    expect(found.out).toMatch(/TOOL CALL: current_time\(timezone="Asia\/«Tokyo»"\)/)
    const hits = lines((await tooltrail(['search', 'Tokyo', '--session', session, '--limit', '1', '--json'])).out)
    expect(hits).toMatchObject([{ object: 'search_hit', session_id: session }])
    expect((await tooltrail(['sessions'])).out).toMatch(
      new RegExp(`\nuse current_time with.* +20.* completed .* tokens +${session}\n`),
    )
    expect(lines((await tooltrail(['sessions', '--json', '--limit', '1'])).out)).toMatchObject([{ id: session }])
    const shown = await tooltrail(['show', session])
    expect(shown.out).toMatch(
      /USER use current_time[^]*TOOL current_time\(timezone="Asia\/Tokyo"\) completed, \d+ ms\n/,
    )
    expect(lines((await tooltrail(['show', session, '--json', '--limit', '2'])).out)).toMatchObject([
      { role: 'tool' },
      { role: 'assistant' },
    ])
    const thought = sessionOf(await tooltrail(['chat', '--json', 'think about crates']))
    expect((await tooltrail(['show', thought])).out).toContain('\nASSISTANT (thinking) The input has ')
    expect((await tooltrail(['context', session])).out).toMatch(
      /^agent {4}default\n[^]*tokens {3}░+ about [\d,]+ of 200,000\n/,
    )
  })

  test('exports a session in each format, and reports an output file that cannot be written', async () => {
    const session = sessionOf(await tooltrail(['chat', '--json', 'use current_time with {"timezone": "Asia/Tokyo"}']))
    const native = lines((await tooltrail(['export', session])).out)
    expect(native.map(({ object, role }) => role ?? object)).toEqual([
      'session',
      'user',
      'assistant',
      'tool',
      'assistant',
    ])
    const chat = lines((await tooltrail(['export', session, '--format', 'openai'])).out)
    expect(chat.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant'])
    const file = join(folder, 'it.md')
    const written = await tooltrail(['export', session, '--format', 'markdown', '--file', file])
    expect([written.code, written.out, written.error]).toEqual([0, '', `${file}: ${statSync(file).size} bytes\n`])
    expect(readFileSync(file, 'utf8')).toContain('Asia/Tokyo')
    const refused = await tooltrail(['export', session, '--file', join(folder, 'nowhere', 'it.jsonl')])
    expect([refused.code, refused.error]).toEqual([
      1,
      expect.stringMatching(/could not be written: ENOENT.*\. Name another file with -o\.\n$/),
    ])
  })

  test('follows a session until Ctrl-C', async () => {
    const session = sessionOf(await tooltrail(['chat', '--json', 'hello']))
    const child = spawn(process.execPath, ['scripts/tooltrail.mjs', 'tail', session, '--json'], {
      env: { ...process.env, TOOLTRAIL_URL: program.client.url },
    })
    let out = ''
    for await (const chunk of child.stdout) {
      out += String(chunk)
      if (out.includes('"role":"assistant"') && !out.includes('run.started'))
        await tooltrail(['chat', '--session', session, 'use current_time with {"timezone": "Asia/Tokyo"}'])
      if (out.includes('run.completed')) child.kill('SIGINT')
    }
    const events = lines(out).map(({ object, type }) => object ?? type)
    expect(events.slice(0, 3)).toEqual(['message', 'message', 'run.started'])
    expect(events.filter((type) => type === 'tool_call.completed')).toHaveLength(1)
  })

  test('works on the data folder without a key, for any tenant, even if keys exist', async () => {
    const own = mkdtempSync(join(tmpdir(), 'tooltrail-cli-'))
    const env = { TOOLTRAIL_URL: '', TOOLTRAIL_DATA: own }
    const key = await tooltrail(['keys', 'create', '--tenant', 'acme', '--scope', 'admin'], { env })
    expect([key.out, key.error]).toEqual([expect.stringMatching(/^tt_\S+\n$/), expect.stringContaining('Keep the key')])
    expect((await tooltrail(['--tenant', 'acme', 'chat', 'hello'], { env })).code).toBe(0)
    expect(lines((await tooltrail(['--tenant', 'acme', 'sessions', '--json'], { env })).out)).toHaveLength(1)
    expect((await tooltrail(['sessions'], { env })).error).toBe('There are no sessions. Begin one: tooltrail chat\n')
    const secret = key.out.trim()
    const held = await tooltrail(['--key', secret, 'sessions', '--json'], { env })
    expect([held.code, lines(held.out)]).toEqual([0, expect.objectContaining({ length: 1 })])
    const reader = ['keys', 'create', '--tenant', 'acme', '--scope', 'read']
    const readOnly = (await tooltrail(reader, { env })).out.trim()
    const refused = await tooltrail(['--key', readOnly, 'chat', 'hello'], { env })
    expect([refused.code, refused.error]).toEqual([1, 'this key lacks the scope write\n'])
    const unknown = await tooltrail(['sessions'], { env: { ...env, TOOLTRAIL_KEY: 'tt_wrong' } })
    expect([unknown.code, unknown.out, unknown.error]).toEqual([
      1,
      '',
      'this API key is not known in the data folder of this machine; name the program that knows it with --url or TOOLTRAIL_URL\n',
    ])
    const both = await tooltrail(['--tenant', 'acme', '--key', secret, 'sessions'], { env })
    expect([both.code, both.out, both.error]).toEqual([2, '', expect.stringMatching(/^--tenant is only for [^\n]*\n$/)])
    const doubted = await tooltrail(['doctor', '--key', 'tt_wrong'], { env: { ...env, PORT: '9' } })
    expect([doubted.code, doubted.out]).toEqual([2, expect.stringMatching(/\nBAD {3}key .*is not known/)])
    const examined = await tooltrail(['doctor'], { env: { ...env, PORT: '9' } })
    expect(examined.out).toMatch(
      /^ok {4}node .*\nok {4}data folder .*\nok {4}database .* sound.*\nlook {2}model .*\nok {4}settings .*\nok {4}tools .*default.*current_time/,
    )
    rmSync(own, { recursive: true })
  })

  test.each([
    [import.meta.filename, 'written to'],
    [join(import.meta.filename, 'data'), 'made'],
    ...(process.platform === 'linux'
      ? [
          ['/proc', 'written to'],
          ['/proc/x/data', 'made'],
        ]
      : []),
  ])('reports an unusable data folder and the reason: %s', async (path, what) => {
    const { code, out } = await tooltrail(['doctor'], { env: { TOOLTRAIL_URL: '', TOOLTRAIL_DATA: path, PORT: '9' } })
    expect([code, out]).toEqual([2, expect.stringContaining(`\nBAD   data folder  ${path} cannot be ${what}: `)])
  })

  test('exits with code 130 when Ctrl-C stops its run', async () => {
    const words = ['scripts/tooltrail.mjs', 'chat', '-p', 'wait 50 seconds']
    const child = spawn(process.execPath, words, { env: { ...process.env, TOOLTRAIL_URL: program.client.url } })
    child.stdin.end()
    let error = ''
    for await (const chunk of child.stderr) {
      if (!error.includes('demo_wait') && String(chunk).includes('demo_wait')) child.kill('SIGINT')
      error += String(chunk)
    }
    const code = child.exitCode ?? ((await once(child, 'exit')) as [number])[0]
    expect([code, error]).toEqual([130, expect.stringMatching(/\nYou stopped the run\. See: tooltrail show \S+\n$/)])
  })

  test('imports into the data folder, for the tenant named before the command', async () => {
    const own = mkdtempSync(join(tmpdir(), 'tooltrail-cli-'))
    const env = { TOOLTRAIL_URL: '', TOOLTRAIL_DATA: own }
    const file = join(own, 'one.jsonl')
    writeFileSync(file, '{"messages":[{"role":"user","content":"blue crates"},{"role":"assistant","content":"two"}]}\n')
    const taken = await tooltrail(['--tenant', 'acme', 'import', 'openai', file], { env })
    expect(taken).toEqual({ code: 0, out: '1 file read; new: 2 messages in 1 session\n', error: '' })
    expect(lines((await tooltrail(['--tenant', 'acme', 'sessions', '--json'], { env })).out)).toHaveLength(1)
    expect((await tooltrail(['sessions', '--json'], { env })).out).toBe('')
    rmSync(own, { recursive: true })
  })

  test.each([['sessions'], ['show'], ['chat', '-p', 'hello'], ['tail'], ['keys', '--help'], ['--help']])(
    'exits silently when the reader of its output closes: %s',
    async (...words) => {
      const session = sessionOf(await tooltrail(['chat', '--json', 'hello']))
      const all = ['show', 'tail'].includes(words[0] ?? '') ? [...words, session] : words
      const child = spawn(process.execPath, ['scripts/tooltrail.mjs', ...all], {
        env: { ...process.env, TOOLTRAIL_URL: program.client.url },
      })
      child.stdin.end()
      child.stdout.destroy()
      const [error, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
      expect([code, error.includes('EPIPE')]).toEqual([0, false])
    },
  )

  test('reports the state of the program at an address, and whether the key is wrong', async () => {
    const { out } = await tooltrail(['doctor'])
    expect(out).toMatch(/^ok {4}program .* storage ok\nok {4}clock .*\nok {4}key .* none is needed\n$/)
    const wrong = await tooltrail(['doctor', '--key', 'tt_wrong'])
    expect([wrong.code, wrong.out]).toEqual([2, expect.stringMatching(/\nBAD {3}key .*--key or TOOLTRAIL_KEY\n$/)])
  })

  test.each([
    [['export', 'nobody'], 1, CLOSED_PORT],
    [['show', 'nobody'], 1, CLOSED_PORT],
    [['tail', 'nobody'], 1, CLOSED_PORT],
    [['context', 'nobody'], 1, CLOSED_PORT],
    [['--tenant', 'BAD', 'sessions'], 2, /^error: option '--tenant <tenant>' argument 'BAD' is invalid/],
    [
      ['--url', 'http://127.0.0.1:1', 'import', 'openai', 'package.json'],
      3,
      /^nothing responds at http:\/\/127\.0\.0\.1:1: /,
    ],
    [['--url', 'http://127.0.0.1:1', 'keys', 'list'], 2, 'keys list takes no --url. See: tooltrail keys list --help\n'],
    [['search', 'x', '--role', 'boss'], 2, /^error: option '--role <role>' argument 'boss' is invalid/],
    [
      ['search', 'x', '--since', 'soon'],
      2,
      /'soon' is invalid\. It must be a date such as 2026-11-22, .* yesterday, or a span/,
    ],
    [['sessions', '--limit', '0'], 2, /It must be a whole number above 0/],
    [['sessions', '--run-status', 'odd'], 2, /Allowed choices are queued, running, paused, completed/],
    [['--url', 'ftp://x', 'sessions'], 2, /^--url must be an http or https address/],
    [
      ['--url', 'http://127.0.0.1:1', 'sessions'],
      3,
      /^Nothing responds at .*Check the address, or start a program there: tooltrail start\n$/,
    ],
    [
      ['--url', 'http://127.0.0.1:1', '--key', 'tt_a\nb', 'sessions'],
      2,
      '--key must be a key as it was printed: tt_…. Run with --help to see what there is.\n',
    ],
    [['--tenant', 'acme', 'sessions'], 2, /^--tenant is only for the data folder without a key\. /],
    ...(['show', 'tail', 'context', 'export'] as const).map(
      (command) => [[command, '../x'], 2, /'\.\.\/x' is invalid .* List them: tooltrail sessions\./] as const,
    ),
    [['chat', '--session', '../x', 'hi'], 2, /The id of a session has 1–128 of A-Z a-z 0-9/],
    [['search', 'x', '--session', '..'], 2, /The id of a session has 1–128 of A-Z a-z 0-9/],
    [['start', '--key', 'tt_a'], 2, 'start takes no --key. See: tooltrail start --help\n'],
    [['status', '--count'], 2, '--count needs --env. See: tooltrail status --help\n'],
    [['status', '--cuont'], 2, /^error: unknown option '--cuont'/],
    [
      ['keys', 'create', '--scope', 'read'],
      2,
      /\n--tenant is missing: it must be 1–64 of a-z 0-9 -; sessions made without/,
    ],
    [['keys', 'create', '--tenant', 'acme'], 2, /\n--scope is missing: it must be read, write or admin\. /],
    [['sessions', '--owner', 'nobody'], 0, 'No session fits. All of them: tooltrail sessions\n'],
    [['chat', 'fail model'], 1, /^provider_error: the demo model was asked to fail\nThe run ended as failed\. /],
    [['--key', 'tt_wrong', 'sessions'], 1, /this API key is not known; give one with --key or TOOLTRAIL_KEY\n$/],
    [['chat'], 2, 'There is no input. Give a text: tooltrail chat -p "…"\n'],
    [['chat', '--session', 'nobody', 'hi'], 1, CLOSED_PORT],
    [['chat', '--agent', 'nobody', 'hi'], 1, /^there is no agent nobody\. See which there are in agents\.json/],
    [['show'], 2, "error: missing required argument 'session'. Run with --help to see what there is.\n"],
    [['dance'], 2, /^error: unknown command 'dance'/],
    [['keys', 'dance'], 2, /^error: unknown command 'dance'/],
    [['doctor', '--url', 'http://127.0.0.1:1'], 2, ''],
  ] as const)('exits for %j with code %i and one line of help', async (words, code, error) => {
    const refused = await tooltrail(words)
    expect(refused.code).toBe(code)
    if (typeof error === 'string') expect(refused.error).toBe(error)
    else expect(refused.error).toMatch(error)
    expect(refused.error).not.toMatch(/\n {4}at /)
  })
})
