import { environmentOf, readFlags, runCommand } from '../../runtime/command.ts'
import { readOperationSettings } from '../../runtime/settings/config.ts'
import { note, print } from '../terminal.ts'
import { openOperations } from '../../runtime/aws/operations.ts'

const USAGE = `Retries the dead letters of a deployed environment: messages that could not be indexed (from their rows as they are now), and
hints that no worker could handle. Entries that fail again stay; the exit code is then 2. Hints go back first, also if the index
refuses. To index messages, your role must be an operator of the environment.

  npx tooltrail redrive --env <environment>
`

await runCommand(USAGE, async (line) => {
  readFlags(line.argv, [])
  const operations = await openOperations(environmentOf(line), readOperationSettings())
  try {
    const { done, failed, deadLetters, stoppedBy } = await operations.redrive()
    if (failed.length > 0) process.exitCode = 2
    const failures = failed.map(({ messageId, error }) => `  ${messageId}: ${error}\n`).join('')
    const text = `brought ${done} messages up to date, ${failed.length} failed again, sent ${deadLetters} dead letters back\n${failures}`
    if (stoppedBy === undefined) return text
    print(text)
    note('The other dead letters stay, because of this error:\n')
    throw stoppedBy
  } finally {
    await operations.close()
  }
})
