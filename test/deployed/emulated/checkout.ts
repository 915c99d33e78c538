import { execFile, execFileSync } from 'node:child_process'
import { appendFileSync, copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../../..')
const SETTINGS = 'lib/environments.ts'
const COMMAND_TIMEOUT_MS = 600_000

/** A copy of this tree, in which settings may be changed and commands run against the emulator. */
export interface Checkout {
  /** Runs a command, whose output goes to the log of the check. Resolves to its output; rejects if its exit code is not 0. */
  run(program: string, ...argv: readonly string[]): Promise<string>
  /** Adds a line to the settings of an environment. */
  set(environment: string, line: string): void
  /** Restores the copied settings. */
  resetSettings(): void
}

/** Copies the files of this tree that git tracks, with uncommitted changes. `logOf`: the log of the check that runs. */
export function createCheckout(folder: string, port: number, logOf: () => string): Checkout {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  for (const path of listed.split('\0').filter((name) => name !== '' && existsSync(join(ROOT, name)))) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    copyFileSync(join(ROOT, path), join(folder, path))
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const env = environmentFor(port)
  // The tree may change while the checks run, so everything from here on is read from the copy.
  const settings = readFileSync(join(folder, SETTINGS))
  return {
    run: (program, ...argv) =>
      new Promise((succeed, fail) => {
        const options = { cwd: folder, env, timeout: COMMAND_TIMEOUT_MS, maxBuffer: 64 * 1024 * 1024 }
        const child = execFile(program, argv, options, (error, out, errors) => {
          appendFileSync(logOf(), `$ ${program} ${argv.join(' ')}\n${out}${errors}\n`)
          if (error === null) succeed(out)
          else fail(new Error(lastWords(`${out}\n${errors}`), { cause: error }))
        })
        child.stdin?.end()
      }),
    set(environment, line) {
      const path = join(folder, SETTINGS)
      const before = readFileSync(path, 'utf8')
      const after = before.replace(`\n  ${environment}: {\n`, (head) => `${head}    ${line}\n`)
      if (after === before) throw new Error(`${SETTINGS} has no environment ${environment}`)
      writeFileSync(path, after)
    },
    resetSettings: () => writeFileSync(join(folder, SETTINGS), settings),
  }
}

/** The emulator's credentials and addresses, as environment variables. */
const environmentFor = (port: number): NodeJS.ProcessEnv => ({
  PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env['PATH']}`,
  HOME: process.env['HOME'],
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
  AWS_REGION: 'us-east-1',
  AWS_DEFAULT_REGION: 'us-east-1',
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_ENDPOINT_URL: `http://localhost:${port}`,
  AWS_ENDPOINT_URL_S3: `http://localhost:${port}`,
  CDK_DISABLE_CLI_TELEMETRY: 'true',
  NO_COLOR: '1',
})

/** The lines with the errors. */
const lastWords = (output: string): string => {
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  const faults = lines.filter((line) => /FAILED|❌|error|refuse|is needed|✗/i.test(line))
  return (faults.length > 0 ? faults : lines)
    .slice(-3)
    .map((line) => line.trim().slice(0, 240))
    .join(' | ')
}
