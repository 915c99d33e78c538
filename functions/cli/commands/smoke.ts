import { parseArgs } from 'node:util'
import { isUnreachable, NOT_RUNNING, runCommand, UsageError, argsWithoutEnvironment } from '../../runtime/command.ts'
import { addressFault } from '../input.ts'
import { SmokeError, smokeTour, type Target } from './smoke-tour.ts'
import { writeToTerminal } from '../../runtime/terminal-output.ts'

const USAGE = `Tries a program that runs somewhere: the tour, step by step, with a session of its own that it deletes.
The model may be the demo model, or any that calls a tool when it is asked to.

  npx tooltrail smoke --url <address of the API> [--key <API key that may read and write, such as one of scope admin>]
`

await runCommand(USAGE, async (line) => {
  const target = readTarget(argsWithoutEnvironment(line))
  try {
    await smokeTour(target, (step) => writeToTerminal('stdout', `ok  ${step}\n`))
    return 'all is well\n'
  } catch (error) {
    if (!(error instanceof SmokeError)) throw error
    process.exitCode = isUnreachable(error.cause) ? NOT_RUNNING : 2
    return `FAILED  ${error.message}\n`
  }
})

function readTarget(argv: readonly string[]): Target {
  let values: { readonly url?: string | undefined; readonly key?: string | undefined }
  try {
    const options = { url: { type: 'string' }, key: { type: 'string' } } as const
    values = parseArgs({ args: [...argv], options, strict: true }).values
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
  const { url, key } = values
  if (url === undefined) throw new UsageError('name the address of the API: --url https://…')
  const fault = addressFault(url)
  if (fault !== undefined) throw new UsageError(`--url ${fault}`)
  // The key is checked here, because the error for an invalid header would quote it.
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key))
    throw new UsageError('--key is empty or has characters that no key has')
  return { url: new URL(url).href.replace(/\/$/, ''), key }
}
