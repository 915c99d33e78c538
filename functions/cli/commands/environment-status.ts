import { environmentOf, readFlags, runCommand } from '../../runtime/command.ts'
import { readOperationSettings } from '../../runtime/settings/config.ts'
import { openOperations } from '../../runtime/aws/operations.ts'
import { readStatus } from '../../runtime/aws/status.ts'
import { needsAttention, statusText } from './status-text.ts'

const USAGE = `Shows the state of a deployed environment on one screen. The exit code is 2 when something needs attention.

  npx tooltrail status --env <environment> [--count]

Counting the documents of a serverless index wakes it if it sleeps, which costs for about ten minutes.
--count counts the documents of the log, however large the table is. This reads the whole table.
`

await runCommand(USAGE, async (line) => {
  const flags = readFlags(line.argv, ['count'])
  const operations = await openOperations(environmentOf(line), readOperationSettings())
  try {
    const status = await readStatus(operations, { count: flags.has('count') })
    if (needsAttention(status)) process.exitCode = 2
    return statusText(status)
  } finally {
    await operations.close()
  }
})
