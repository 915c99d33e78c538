import { readFlags, runCommand } from '../../runtime/command.ts'
import { readOperationSettings, readSettings } from '../../runtime/settings/config.ts'
import { openPorts } from '../../runtime/local/open-ports.ts'
import { progressLine } from '../terminal.ts'

const USAGE = `Rebuilds the history index from the log. The program may keep running.

  npx tooltrail rebuild                      on this machine
  npx tooltrail rebuild --env <environment>  on a deployed environment, if your role is among its operators
`

await runCommand(USAGE, async ({ environment, argv }) => {
  readFlags(argv, [])
  if (environment === undefined) {
    const ports = await openPorts(readSettings())
    try {
      const { messages, removed } = await ports.rebuildHistory((done) => progressLine?.(`${done} messages`))
      progressLine?.('')
      return `indexed ${messages} messages again and removed the documents of ${removed} that no longer exist\n`
    } finally {
      await ports.close()
    }
  }
  const { openOperations } = await import('../../runtime/aws/operations.ts')
  const operations = await openOperations(environment, readOperationSettings())
  try {
    const { messages } = await operations.rebuildHistory()
    return `indexed ${messages} messages; searches now use the new index\n`
  } finally {
    await operations.close()
  }
})
