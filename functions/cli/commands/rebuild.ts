import { openPorts } from '../../runtime/local/open-ports.ts'
import { readOperationSettings, readSettings } from '../../runtime/settings/config.ts'
import { print, progressLine } from '../terminal.ts'

/** Rebuilds the history index of this machine or of an environment from the log. */
export async function rebuild(environment: string | undefined): Promise<void> {
  if (environment === undefined) return rebuildHere()
  const { openOperations } = await import('../../runtime/aws/operations.ts')
  const operations = await openOperations(environment, readOperationSettings())
  try {
    const { messages } = await operations.rebuildHistory()
    print(`indexed ${messages} messages; searches now use the new index\n`)
  } finally {
    await operations.close()
  }
}

async function rebuildHere(): Promise<void> {
  const ports = await openPorts(readSettings())
  try {
    const { messages, removed } = await ports.rebuildHistory((done) => progressLine?.(`${done} messages`))
    progressLine?.('')
    print(`indexed ${messages} messages again and removed the documents of ${removed} that no longer exist\n`)
  } finally {
    await ports.close()
  }
}
