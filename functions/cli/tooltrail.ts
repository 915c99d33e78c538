import { Command, Option } from 'commander'
import { MISUSED } from '../runtime/command.ts'
import { reportLostOutput } from '../runtime/output-errors.ts'
import { VERSION } from '../runtime/version.ts'
import { Failed, address, count, keyText, sessionId, tenantName } from './input.ts'
import type { ExportOptions } from './commands/export.ts'
import type { TailOptions } from './commands/tail.ts'
import { addListCommands } from './list-commands.ts'
import { whileConnected } from './connect.ts'
import type { Connection, ConnectionOptions } from './connect.ts'
import { exitCodeOf, lineOf } from './refusals.ts'
import { isInteractive, note, oneLine, pipedInput } from './terminal.ts'
import { writeToTerminal } from '../runtime/terminal-output.ts'

const program = new Command('tooltrail')
  .description(
    'Agents that never forget what they did. Works on the data folder of this machine, or with --url on any address.',
  )
  .version(VERSION)
  .addOption(
    new Option('--url <address>', 'where a program runs; without it: this machine')
      .env('TOOLTRAIL_URL')
      .argParser(address),
  )
  .addOption(
    new Option('--key <key>', 'API key: of the program at --url, or of the data folder of this machine')
      .env('TOOLTRAIL_KEY')
      .argParser(keyText),
  )
  .addOption(
    new Option('--tenant <tenant>', 'of the data folder of this machine, where no key says so')
      .default('default')
      .argParser(tenantName),
  )
  .configureOutput({
    outputError: (text, write) =>
      write(oneLine(`${text.trimEnd().replace(/\.?$/, '.')} Run with --help to see what there is.`, 2_000) + '\n'),
  })
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : MISUSED))
  .configureHelp({ showGlobalOptions: true })
  .addHelpText(
    'after',
    '\nExit codes: 0 done, 1 failed, 2 a mistake on the command line, or needs attention (doctor, status --env), 3 a run waits for a person, or no program responds, 130 interrupted.',
  )

/** Aborts when the reader of the output, such as `head`, has closed it. */
const readerGone = new AbortController()

/** Returns the connection that the options describe. An empty variable counts as not set. */
function place(): ConnectionOptions {
  const { url = '', key = '', tenant } = program.opts<ConnectionOptions>()
  if (url + key !== '' && program.getOptionValueSource('tenant') === 'cli')
    throw new Failed(
      '--tenant is only for the data folder without a key. With --url or --key, the key decides the tenant.',
      MISUSED,
    )
  return { tenant, ...(url === '' ? {} : { url }), ...(key === '' ? {} : { key }) }
}

const on = (work: (connection: Connection) => Promise<void>): Promise<void> => whileConnected(place(), work)

program
  .command('start')
  .description('start the program (PORT, HOST and the other settings come from the environment)')
  .action(async () => {
    const [unknown] = given([])
    if (unknown !== undefined) throw new Failed(`start takes no ${unknown}. See: tooltrail start --help`, MISUSED)
    await (await import('../runtime/local/run.ts')).runProgram()
  })

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
    await whileConnected({ ...place(), takesWork: true }, ({ client }) =>
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
    await doctor(place())
  })

program
  .command('status')
  .description('show what a program is doing; with --env a deployed environment on one screen')
  .option('--env <environment>', 'a deployed environment')
  .option('--count', 'with --env: count the documents of the log, which reads the whole table')
  .option('--json', 'as JSON')
  .action(async ({ env, count: counts, ...options }: { env?: string; count?: boolean; json?: boolean }) => {
    const flags = (['count', 'json'] as const).filter((name) => ({ count: counts, json: options.json })[name] === true)
    if (env !== undefined)
      return own(
        () => import('./commands/environment-status.ts'),
        ['--env', env, ...flags.map((name) => `--${name}`), ...given([])],
      )
    if (counts === true) throw new Failed('--count needs --env. See: tooltrail status --help', MISUSED)
    const { showStatus } = await import('./commands/status.ts')
    await on((connection) => showStatus(connection, options))
  })

/** Commands that parse their own argv. `takes`: the global options they accept. */
const OWN = {
  keys: { description: 'create, list, cap and revoke API keys', takes: [], load: () => import('./commands/keys.ts') },
  rebuild: {
    description: 'rebuild the history index from the log',
    takes: [],
    load: () => import('./commands/rebuild.ts'),
  },
  redrive: {
    description: 'retry the dead letters of a deployed environment',
    takes: [],
    load: () => import('./commands/redrive.ts'),
  },
  smoke: {
    description: 'try a program that runs somewhere, step by step',
    takes: ['url', 'key'],
    load: () => import('./commands/smoke.ts'),
  },
  slack: { description: 'set up a Slack app', takes: [], load: () => import('./commands/slack.ts') },
  webhook: {
    description: 'send a webhook a signed sample',
    takes: ['url'],
    load: () => import('./commands/webhook.ts'),
  },
} as const
for (const [name, { description, takes, load }] of Object.entries(OWN))
  ownCommand(name, description).action(async (_words, _options, command: Command) => {
    const isHere = ['keys', 'rebuild'].includes(name) && !command.args.some((word) => /^--(?:env|help)\b/.test(word))
    if (isHere && program.getOptionValueSource('url') === 'env' && program.opts<ConnectionOptions>().url !== '')
      note(
        `${name} is about the data folder of this machine, not about TOOLTRAIL_URL; name an environment with --env\n`,
      )
    await own(load, [...command.args, ...given(takes)])
  })

ownCommand('import', 'bring the sessions of other programs: claude-code, codex, langgraph-sqlite, …').action(
  async (_words, _options, command: Command) => {
    const bring = (rest: readonly string[]): Promise<void> =>
      own(() => import('./commands/import.ts'), [...command.args, ...rest])
    if (place().url !== undefined || command.args.some((word) => word === '--help' || word === '-h'))
      return bring(given(['url', 'key']))
    await on(({ url, key = '' }) => bring(['--url', url, '--key', key]))
  },
)

function ownCommand(name: string, description: string): Command {
  return program
    .command(`${name} [words...]`)
    .description(description)
    .allowUnknownOption()
    .helpOption(false)
    .addHelpText('after', `\nWhat it takes: tooltrail ${name} --help`)
}

/**
 * Returns the global options as argv. They are the options that the command accepts, and all options that were typed.
 * The command rejects a typed option that it does not accept.
 */
function given(known: readonly string[]): string[] {
  return Object.entries(program.opts<Record<string, string>>()).flatMap(([name, value]) =>
    program.getOptionValueSource(name) === 'cli' || (known.includes(name) && value !== '') ? [`--${name}`, value] : [],
  )
}

/** Runs a command that parses its own argv. */
async function own(load: () => Promise<unknown>, argv: readonly string[]): Promise<void> {
  process.argv.splice(2, process.argv.length, ...argv)
  await load()
}

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
