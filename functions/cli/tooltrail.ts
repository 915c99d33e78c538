import complete from '@bomb.sh/tab/commander'
import { Option } from 'commander'
import { MISUSED } from '../runtime/command.ts'
import { reportLostOutput } from '../runtime/output-errors.ts'
import { writeToTerminal } from '../runtime/terminal-output.ts'
import type { ExportOptions } from './commands/export.ts'
import type { TailOptions } from './commands/tail.ts'
import { whileConnected } from './connect.ts'
import type { Connection, ConnectionOptions } from './connect.ts'
import { connectionOptions, createProgram, environmentOption } from './global-options.ts'
import { count, Failed, sessionId } from './input.ts'
import { addListCommands } from './list-commands.ts'
import { addImportCommand, addOperationCommands } from './operation-commands.ts'
import { exitCodeOf, lineOf } from './refusals.ts'
import { isInteractive, pipedInput } from './terminal.ts'

const program = createProgram()

/** Aborts when the program that reads the output, such as `head`, has closed the output. */
const readerGone = new AbortController()

const on = (work: (connection: Connection) => Promise<void>): Promise<void> =>
  whileConnected(connectionOptions(program), work)

program
  .command('start')
  .description('start the program (PORT, HOST and the other settings come from the environment)')
  .action(async () => (await import('../runtime/local/run.ts')).runProgram())

program
  .command('chat [text...]')
  .description('talk with an agent; with a text, or input from a pipe, once')
  .option('-p, --print <text>', 'one input: the response goes to standard output')
  .option('--json', 'each event as a line of JSON')
  .option('--session <id>', 'go on with this session', sessionId)
  .option('--continue', 'go on with the session that was used last')
  .option('--agent <name>', 'agent of a new session')
  .option('--owner <owner>', 'owner of a new session')
  .action(async (argv: string[], { print, ...options }: { print?: string }) => {
    const piped = await pipedInput()
    const input = [print, argv.join(' '), piped].filter((text) => text !== undefined && text.trim() !== '').join('\n\n')
    const { converse, say } = await import('./commands/chat.ts')
    if (input === '' && !isInteractive())
      throw new Failed('There is no input. Give a text: tooltrail chat -p "…"', MISUSED)
    await whileConnected({ ...connectionOptions(program), takesWork: true }, ({ client }) =>
      input === '' ? converse(client, options) : say(client, input, options),
    )
  })

addListCommands({ program, on, readerGone: readerGone.signal })

program
  .command('tail')
  .argument('<session>', 'its id', sessionId)
  .description('show the newest messages of a session, and its runs as they happen')
  .option('--limit <n>', 'how many messages to show first', count, 10)
  .option('--json', 'messages and events as lines of JSON')
  .action(async (session: string, options: TailOptions) => {
    const { tail } = await import('./commands/tail.ts')
    const left = new AbortController()
    process.once('SIGINT', () => left.abort())
    const signal = AbortSignal.any([left.signal, readerGone.signal])
    await on(({ client }) => tail(client, session, options, signal))
  })

program
  .command('context')
  .argument('<session>', 'its id', sessionId)
  .description('show what the next request to the model would hold')
  .option('--json', 'as JSON')
  .action(async (session: string, options: { readonly json?: boolean }) => {
    const { showContext } = await import('./commands/context.ts')
    await on(({ client }) => showContext(client, session, options))
  })

program
  .command('export')
  .argument('<session>', 'its id', sessionId)
  .description('write the log of a session to a file, or to standard output')
  .addOption(
    new Option('--format <format>', 'everything, Chat Completions messages, or a page to read')
      .choices(['native', 'openai', 'markdown'])
      .default('native'),
  )
  .addOption(
    new Option('--outputs <outputs>', 'of native: images, files and large outputs whole, or only named')
      .choices(['inline', 'pointer'])
      .default('inline'),
  )
  .option('-o, --file <file>', 'where to; what is there is replaced once the export is whole')
  .action(async (session: string, options: ExportOptions) => {
    const { exportSession } = await import('./commands/export.ts')
    await on(({ client }) => exportSession(client, session, options))
  })

program
  .command('doctor')
  .description('look for what keeps Tooltrail from working')
  .action(async () => {
    const { doctor } = await import('./commands/doctor.ts')
    await doctor(connectionOptions(program))
  })

program
  .command('status')
  .description('show what a program is doing; with --env a deployed environment on one screen')
  .addOption(environmentOption())
  .option('--count', 'with --env: count the documents of the log, which reads the whole table')
  .option('--json', 'as JSON')
  .action(async ({ env, ...options }: { env?: string; count?: boolean; json?: boolean }) => {
    if (env !== undefined) return (await import('./commands/environment-status.ts')).showEnvironment(env, options)
    if (options.count === true) throw new Failed('--count needs --env. See: tooltrail status --help', MISUSED)
    const { showStatus } = await import('./commands/status.ts')
    await on((connection) => showStatus(connection, options))
  })

addImportCommand(program)
addOperationCommands(program)
complete(program, { completionCommandName: 'completion' })

process.stdout.on('error', () => readerGone.abort())
reportLostOutput()

try {
  await program.parseAsync()
} catch (error) {
  const line = lineOf(error, program.opts<ConnectionOptions>().url)
  if (line === undefined) throw error
  writeToTerminal('stderr', `${line}\n`)
  process.exitCode = exitCodeOf(error)
}
