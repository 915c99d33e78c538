import { Argument, type Command } from 'commander'
import { addKeyCommands } from './commands/keys/key-commands.ts'
import type { ImportOptions } from './commands/import.ts'
import { whileConnected } from './connect.ts'
import type { Connection, ConnectionOptions } from './connect.ts'
import { connectionOptions, environmentOption, typed } from './global-options.ts'
import { KINDS, type Kind } from './import/kinds.ts'
import { note } from './terminal.ts'

interface EnvironmentOptions {
  readonly env?: string
}

/** Adds the commands of operators: `keys`, `rebuild`, `redrive`, `smoke`, `slack` and `webhook`. */
export function addOperationCommands(program: Command): void {
  addKeyCommands({
    program,
    async withKeys(environment, work) {
      if (environment === undefined) noteOtherAddress(program, 'keys')
      await (await import('./commands/keys/open-keys.ts')).withKeys(environment, work)
    },
  })

  program
    .command('rebuild')
    .description('rebuild the history index from the log, also while the program runs')
    .addOption(environmentOption())
    .action(async ({ env }: EnvironmentOptions) => {
      if (env === undefined) noteOtherAddress(program, 'rebuild')
      await (await import('./commands/rebuild.ts')).rebuild(env)
    })

  program
    .command('redrive')
    .description('retry the dead letters of a deployed environment')
    .addOption(environmentOption().makeOptionMandatory())
    .addHelpText(
      'after',
      `
Dead letters are messages that could not be indexed, and hints that no worker could handle. Messages are indexed from
their rows as they are now. Hints go back first. Entries that fail again stay, and the exit code is then 2. To index
messages, your role must be an operator of the environment.`,
    )
    .action(async ({ env }: Required<EnvironmentOptions>) => (await import('./commands/redrive.ts')).redrive(env))

  program
    .command('smoke')
    .description('try a program at --url step by step, in a session that is deleted afterwards')
    .addHelpText(
      'after',
      '\nThe model may be the demo model, or any that calls a tool on request. The key must have the scopes read and write.',
    )
    .action(async () => (await import('./commands/smoke.ts')).smoke(connectionOptions(program)))

  addSlackCommands(program)

  program
    .command('webhook')
    .description('try the webhooks of agents.json')
    .command('test')
    .argument('<name>', 'the webhook’s name in agents.json')
    .description('send a webhook a delivery, signed as its sender signs, and show the response')
    .option('--body <file>', 'a file with JSON; without it, a body with a value at each place that the settings use')
    .addHelpText('after', '\nIt needs the variable of the webhook’s first secret.')
    .action(async (name: string, { body }: { body?: string }) => {
      const { url } = connectionOptions(program)
      await (await import('./commands/webhook.ts')).testWebhook(name, { url, body })
    })
}

function addSlackCommands(program: Command): void {
  const slack = program.command('slack').description('set up a Slack app; docs/guides/slack.md has the steps')
  slack
    .command('manifest')
    .description('print the app’s manifest for the address at --url; without it, for Socket Mode')
    .action(async () => (await import('./commands/slack.ts')).printManifest(typed(program, 'url')))
  slack
    .command('check')
    .description('say what is there, missing and wrong: token, scopes, secret, and the address at --url')
    .action(async () => (await import('./commands/slack.ts')).checkSlack(typed(program, 'url')))
}

/** Adds `import`. */
export function addImportCommand(program: Command): void {
  program
    .command('import')
    .description('import the sessions of other programs; run it again at any time: it takes only what is new')
    .addArgument(new Argument('<kind>', 'the program that wrote the files').choices(KINDS))
    .argument('[path...]', 'files or folders; claude-code and codex have default folders')
    .option('--dry-run', 'count, and store nothing')
    .option('--owner <owner>', 'owner of the sessions')
    .addHelpText('after', '\nDamaged lines are reported as FILE:LINE: reason, and left out.')
    .action(async (kind: Kind, places: string[], options: ImportOptions) => {
      const { importSessions } = await import('./commands/import.ts')
      await importSessions({ ...options, kind, places }, (work) =>
        whileConnected<void>(connectionOptions(program), ({ url, key }: Connection) => work({ url, key })),
      )
    })
}

/** Notes that a command about this machine ignores the address in the environment. */
function noteOtherAddress(program: Command, name: string): void {
  const { url = '' } = program.opts<Partial<ConnectionOptions>>()
  if (url === '' || program.getOptionValueSource('url') !== 'env') return
  note(`${name} is about the data folder of this machine, not about TOOLTRAIL_URL; name an environment with --env\n`)
}
