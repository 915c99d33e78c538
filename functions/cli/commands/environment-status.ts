import { openOperations } from '../../runtime/aws/operations.ts'
import { readStatus } from '../../runtime/aws/status.ts'
import { readOperationSettings } from '../../runtime/settings/config.ts'
import { NEEDS_ATTENTION } from '../input.ts'
import { print, printJson } from '../terminal.ts'
import { needsAttention, statusText } from './status-text.ts'

/**
 * Shows the state of an environment. With `count`, the documents of the table are counted even if the table is large:
 * the whole table is read. The exit code is 2 if something needs attention.
 */
export async function showEnvironment(
  environment: string,
  { count = false, json = false }: { readonly count?: boolean; readonly json?: boolean },
): Promise<void> {
  const operations = await openOperations(environment, readOperationSettings())
  try {
    const status = await readStatus(operations, { count })
    if (needsAttention(status)) process.exitCode = NEEDS_ATTENTION
    if (json) printJson(status)
    else print(statusText(status))
  } finally {
    await operations.close()
  }
}
