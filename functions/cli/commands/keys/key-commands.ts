import type { Command } from 'commander'
import { harmless } from '../../../runtime/terminal-output.ts'
import { environmentOption, typed } from '../../global-options.ts'
import type * as Commands from './key-command.ts'
import type { KeyDependencies, Printed } from './key-command.ts'
import type { CapOptions, KeyOptions } from './key-options.ts'

interface KeyCommands {
  readonly program: Command
  /** Runs work with the keys of an environment, or with those of this machine if no environment is given. */
  readonly withKeys: (
    environment: string | undefined,
    work: (dependencies: KeyDependencies) => Promise<Required<Printed>>,
  ) => Promise<void>
}

/** Adds `keys create`, `keys list`, `keys cap` and `keys revoke`. */
export function addKeyCommands({ program, withKeys }: KeyCommands): void {
  const keys = program
    .command('keys')
    .description('create, list, cap and revoke API keys, here or with --env on a deployed environment')
    .addOption(environmentOption())
  const run = async (
    work: (commands: typeof Commands, dependencies: KeyDependencies) => Promise<Printed>,
  ): Promise<void> => {
    const commands = await import('./key-command.ts')
    await withKeys(keys.opts<{ env?: string }>().env, async (dependencies) => {
      const { output, note = '' } = await work(commands, dependencies)
      return { output: harmless(output), note: harmless(note) }
    })
  }

  withCaps(keys.command('create').description('create a key of --tenant, and print it once on standard output'))
    .option('--scope <scope>', 'read (GET requests), write (all others) or admin (both); may be repeated', gathered)
    .option('--name <name>', 'a label in lists')
    .option('--expires <when>', 'days from now such as 90d, a date (its start in UTC), or a time')
    .option('--owner <owner>', 'bind the key to the sessions of one owner, whatever its agents may search')
    .option('--agent <agent>', 'an agent that the key may use; may be repeated; by default all', gathered)
    .addHelpText('after', '\nOnly the hash of the key is kept.')
    .action((options: Omit<KeyOptions, 'tenant'>) =>
      run(({ createKey }, dependencies) => createKey(dependencies, { ...options, tenant: typed(program, 'tenant') })),
    )

  keys
    .command('list')
    .description('list the keys of --tenant or of all tenants, with the day of their last use')
    .option('--json', 'each key as a line of JSON')
    .action(({ json }: { json?: boolean }) =>
      run(({ listKeys }, dependencies) => listKeys(dependencies, { tenant: typed(program, 'tenant'), json })),
    )

  withCaps(keys.command('cap').argument('<id>', 'the key’s id, as "keys list" shows it'))
    .description('change the named caps of a key from its next request on; none removes a cap')
    .addHelpText('after', '\nRuns in progress continue.')
    .action((id: string, options: CapOptions) => run(({ capKey }, dependencies) => capKey(dependencies, id, options)))

  keys
    .command('revoke')
    .argument('<id>', 'the key’s id, as "keys list" shows it')
    .description('revoke a key')
    .action((id: string) => run(({ revokeKey }, dependencies) => revokeKey(dependencies, id)))
}

const withCaps = (command: Command): Command =>
  command
    .option('--rps <n>', 'cap of requests per second')
    .option('--active-runs <n>', 'cap of runs at a time')
    .option('--open-calls <n>', 'cap of streams and waiting calls at a time')
    .option('--tokens-per-day <n>', 'cap of the tokens of its runs on a day (UTC)')

const gathered = (text: string, earlier: readonly string[] = []): readonly string[] => [...earlier, text]
