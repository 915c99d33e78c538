import { isUnreachable, MISUSED, NOT_RUNNING } from '../../runtime/command.ts'
import type { ConnectionOptions } from '../connect.ts'
import { Failed, NEEDS_ATTENTION } from '../input.ts'
import { print } from '../terminal.ts'
import { SmokeError, smokeTour } from './smoke-tour.ts'

/** Tries a program step by step. The exit code is 2 if a step fails, or 3 if no program responds. */
export async function smoke({ url, key }: Pick<ConnectionOptions, 'url' | 'key'>): Promise<void> {
  if (url === undefined) throw new Failed('Name the address of the API: tooltrail smoke --url https://…', MISUSED)
  try {
    await smokeTour({ url: new URL(url).href.replace(/\/$/, ''), key }, (step) => print(`ok  ${step}\n`))
    print('all is well\n')
  } catch (error) {
    if (!(error instanceof SmokeError)) throw error
    process.exitCode = isUnreachable(error.cause) ? NOT_RUNNING : NEEDS_ATTENTION
    print(`FAILED  ${error.message}\n`)
  }
}
