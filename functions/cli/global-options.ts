import { Command, InvalidArgumentError, Option } from 'commander'
import { MISUSED } from '../runtime/command.ts'
import { readCommandSettings } from '../runtime/settings/config.ts'
import { VERSION } from '../runtime/version.ts'
import type { ConnectionOptions } from './connect.ts'
import { address, Failed, keyText, tenantName } from './input.ts'
import { oneLine } from './terminal.ts'

type GlobalOption = 'url' | 'key' | 'tenant'
const GLOBAL_OPTIONS: readonly GlobalOption[] = ['url', 'key', 'tenant']

/** For each command that does not accept every global option: the options that it accepts. */
const ACCEPTED: ReadonlyMap<string, readonly GlobalOption[]> = new Map([
  ['start', []],
  ['keys', ['tenant']],
  ['rebuild', []],
  ['redrive', []],
  ['smoke', ['url', 'key']],
  ['slack', ['url']],
  ['webhook', ['url']],
  ['completion', []],
])

/** The name of the program as it was called, for usage texts. */
const CALLED = readCommandSettings().isNpx ? 'npx tooltrail' : 'tooltrail'

const EXIT_CODES =
  '\nExit codes: 0 done, 1 failed, 2 a mistake on the command line, or needs attention (doctor, status --env, redrive, smoke, slack check, webhook test), 3 a run waits for a person, or no program responds, 130 interrupted.'

/** Creates the program without its commands. A mistake on the command line prints one line and exits with 2. */
export function createProgram(): Command {
  return new Command('tooltrail')
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
    .configureHelp({
      showGlobalOptions: true,
      commandUsage: (command) => `${CALLED}${pathOf(command)} ${command.usage()}`,
    })
    .addHelpText('after', EXIT_CODES)
    .hook('preAction', (program, command) => refuseOthers(program, command))
}

/** The names of a command and of the commands that contain it, each after a space. */
function pathOf(command: Command): string {
  return command.parent === null ? '' : `${pathOf(command.parent)} ${command.name()}`
}

/** Returns the value of a global option if it was typed. A value from a variable or a default does not count. */
export function typed(program: Command, name: GlobalOption): string | undefined {
  return program.getOptionValueSource(name) === 'cli' ? program.opts<Record<string, string>>()[name] : undefined
}

/** Returns the connection that the global options describe. An empty variable counts as not set. */
export function connectionOptions(program: Command): ConnectionOptions {
  const empty = (['url', 'key'] as const).find((name) => typed(program, name) === '')
  if (empty !== undefined) throw new Failed(`--${empty} is empty. Run with --help to see what there is.`, MISUSED)
  const { url = '', key = '', tenant } = program.opts<ConnectionOptions>()
  if (url + key !== '' && typed(program, 'tenant') !== undefined)
    throw new Failed(
      '--tenant is only for the data folder without a key. With --url or --key, the key decides the tenant.',
      MISUSED,
    )
  return { tenant, ...(url === '' ? {} : { url }), ...(key === '' ? {} : { key }) }
}

/** Rejects a typed global option that the command does not accept. */
function refuseOthers(program: Command, command: Command): void {
  const path = pathOf(command).trim()
  const accepted = ACCEPTED.get(path.split(' ')[0] ?? '') ?? GLOBAL_OPTIONS
  const isOfEnvironment = command.optsWithGlobals<{ env?: string }>().env !== undefined
  const accepts = (name: GlobalOption): boolean => accepted.includes(name) && (name === 'tenant' || !isOfEnvironment)
  const refused = GLOBAL_OPTIONS.find((name) => typed(program, name) !== undefined && !accepts(name))
  if (refused !== undefined) throw new Failed(`${path} takes no --${refused}. See: tooltrail ${path} --help`, MISUSED)
}

/** The option of a command that also works on a deployed environment. */
export const environmentOption = (): Option =>
  new Option('--env <environment>', 'a deployed environment, in place of this machine').argParser(environmentName)

function environmentName(text: string, earlier: string | undefined): string {
  if (earlier !== undefined) throw new InvalidArgumentError('--env was given twice')
  if (/^[a-z][a-z0-9-]*$/.test(text)) return text
  throw new InvalidArgumentError('It must be the name of an environment, such as dev')
}
