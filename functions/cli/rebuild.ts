import { readFlags, runCommand } from '../runtime/command.ts'
import { readOperationSettings, readSettings } from '../runtime/config.ts'
import { openPorts } from '../runtime/local/open-ports.ts'

const USAGE = `Makes the history index again from the log, while the program may go on.

  npm run rebuild                         of this machine
  npm run rebuild -- --env <environment>  of a deployed environment
`

await runCommand(USAGE, async ({ environment, words }) => {
  readFlags(words, [])
  if (environment === undefined) {
    const ports = await openPorts(readSettings())
    try {
      const { messages, removed } = await ports.rebuildHistory()
      return `indexed ${messages} messages again, removed the documents of ${removed} that are gone\n`
    } finally {
      await ports.close()
    }
  }
  const { openOperations } = await import('../runtime/aws/operations.ts')
  const operations = await openOperations(environment, readOperationSettings())
  try {
    const { messages } = await operations.rebuildHistory()
    return `indexed ${messages} messages anew; searches now read the new index\n`
  } finally {
    await operations.close()
  }
})
