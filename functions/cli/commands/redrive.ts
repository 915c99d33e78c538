import { openOperations } from '../../runtime/aws/operations.ts'
import { readOperationSettings } from '../../runtime/settings/config.ts'
import { NEEDS_ATTENTION } from '../input.ts'
import { note, print } from '../terminal.ts'

/** Retries the dead letters of an environment. The exit code is 2 if some fail again. */
export async function redrive(environment: string): Promise<void> {
  const operations = await openOperations(environment, readOperationSettings())
  try {
    const { done, failed, deadLetters, stoppedBy } = await operations.redrive()
    if (failed.length > 0) process.exitCode = NEEDS_ATTENTION
    const failures = failed.map(({ messageId, error }) => `  ${messageId}: ${error}\n`).join('')
    print(
      `brought ${done} messages up to date, ${failed.length} failed again, sent ${deadLetters} dead letters back\n${failures}`,
    )
    if (stoppedBy === undefined) return
    note('The other dead letters stay, because of this error:\n')
    throw stoppedBy
  } finally {
    await operations.close()
  }
}
