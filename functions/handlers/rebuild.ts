import { readSettings, SettingsError } from '../runtime/config.ts'
import { openPorts } from '../runtime/open-ports.ts'

const USAGE = `Makes the history index again from the log, while the program may go on.

  npm run rebuild
`

if (process.argv.includes('--help')) process.stdout.write(USAGE)
else if (process.argv.length > 2) {
  process.stderr.write(`unknown argument ${process.argv[2]}\n\n${USAGE}`)
  process.exitCode = 1
} else {
  try {
    const ports = await openPorts(readSettings())
    try {
      const { messages, removed } = await ports.rebuildHistory()
      process.stdout.write(`indexed ${messages} messages again, removed the documents of ${removed} that are gone\n`)
    } finally {
      await ports.close()
    }
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  }
}
