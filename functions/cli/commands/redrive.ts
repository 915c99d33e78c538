import { environmentOf, readFlags, runCommand } from '../../runtime/command.ts'
import { readOperationSettings } from '../../runtime/settings/config.ts'
import { openOperations } from '../../runtime/aws/operations.ts'

const USAGE = `Tries again what a deployed environment has put aside: messages that could not be indexed (from their rows as they are
now), and hints that no worker could handle. What fails again stays put aside; the exit code is then 2.

  npx tooltrail redrive --env <environment>
`

await runCommand(USAGE, async (line) => {
  readFlags(line.words, [])
  const operations = await openOperations(environmentOf(line), readOperationSettings())
  try {
    const { done, failed, deadLetters } = await operations.redrive()
    if (failed.length > 0) process.exitCode = 2
    const failures = failed.map(({ messageId, error }) => `  ${messageId}: ${error}\n`).join('')
    return `brought ${done} messages up to date, ${failed.length} failed again, sent ${deadLetters} dead letters back\n${failures}`
  } finally {
    await operations.close()
  }
})
