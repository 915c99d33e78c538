import type { ApiKey } from '../../../domain/keys/api-key.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { KeyStore } from '../../../ports/key-store.ts'
import { isLockedOut, OPEN_CALLER } from '../../../access/caller.ts'
import { hashKeySecret, newKeySecret } from '../../../access/key-secret.ts'
import { harmless } from '../../../runtime/terminal-output.ts'
import { KeyCommandError, newKey, parseKeyOptions, readCapChange, type KeyOptions } from './key-options.ts'
import { describeKey, keyJson } from './key-text.ts'

export const KEYS_USAGE = `Usage:
  npx tooltrail keys create --tenant <tenant> --scope <read|write|admin> [--scope …] [--name <name>] [--expires <90d|date|time>] [--owner <owner>] [--agent <agent>] [--agent …] [caps]
  npx tooltrail keys list [--tenant <tenant>] [--json]
  npx tooltrail keys cap <id> <caps>
  npx tooltrail keys revoke <id>

caps: [--rps <n>] [--active-runs <n>] [--open-calls <n>] [--tokens-per-day <n>]

These work on this machine, or with --env <environment> on a deployed one.

create prints the key once, alone on standard output; only its hash is kept. read: GET requests. write: all others. admin: both.
--owner binds the key to the sessions of one owner, whatever its agents may search. --agent names the agents it may use; by
default all. --name labels the key in lists. --expires takes days from now, a date (its start in UTC) or a time.
--rps caps its requests per second, --active-runs its runs at a time,
--open-calls its streams and waiting calls at a time, --tokens-per-day the tokens of its runs on a day (UTC).

cap changes caps of an existing key from its next request on; none removes one, the others stay. Runs in flight continue.
list shows the day of each key's last use. --json prints one key a line.
`

const LOCKED_OUT =
  'All keys are revoked or expired: no request is accepted until you make another one: npx tooltrail keys create --tenant <tenant> --scope admin\n'

const CAPPED =
  'The caps hold from the next request on. Cancel runs in flight: POST /v1/sessions/<session>/runs/<run>/cancel\n'

const COMMANDS = ['create', 'list', 'cap', 'revoke'] as const
type Command = (typeof COMMANDS)[number]

interface Dependencies {
  readonly keys: KeyStore
  readonly clock: Clock
  /** The names of the configured agents; absent if they are unknown here. */
  readonly declared?: () => ReadonlySet<string>
}

interface Printed {
  /** The text for standard output, which scripts read. */
  readonly output: string
  /** The explanation for a person, for standard error. */
  readonly note?: string
}

/** Creates, lists, caps or revokes API keys; returns text that a terminal may show. Rejects with `KeyCommandError`. */
export async function runKeyCommand(dependencies: Dependencies, argv: readonly string[]): Promise<Required<Printed>> {
  const { output, note = '' } = await execute(dependencies, argv)
  return { output: harmless(output), note: harmless(note) }
}

async function execute(dependencies: Dependencies, argv: readonly string[]): Promise<Printed> {
  const { values: options, positionals } = parseKeyOptions(argv)
  const [command, id, ...more] = positionals
  if (options.help === true) return { output: KEYS_USAGE }
  if (command === undefined) throw new KeyCommandError('name what to do: create, list, cap or revoke')
  if (!isCommand(command)) throw new KeyCommandError(`there is no command ${command}`)
  const takesId = command === 'cap' || command === 'revoke'
  if (more.length > 0 || (id !== undefined && !takesId)) throw new KeyCommandError(`unexpected: ${more[0] ?? id}`)
  if (options.json === true && command !== 'list') throw new KeyCommandError('--json is an option of keys list')
  if (command === 'create') return create(dependencies, options)
  if (command === 'list') return list(dependencies, options)
  if (id === undefined) throw new KeyCommandError(`${command} needs the id of a key: list them with "keys list"`)
  return command === 'cap' ? cap(dependencies, id, options) : revoke(dependencies, id)
}

const isCommand = (text: string): text is Command => COMMANDS.some((command) => command === text)

async function create({ keys, clock, declared }: Dependencies, options: KeyOptions): Promise<Printed> {
  const secret = newKeySecret()
  const key = newKey(options, clock.now())
  const unknown = unknownAgents(key, declared)
  const isFirst = !(await keys.any())
  await keys.create(hashKeySecret(secret), key)
  const keep = 'Keep the key: it is not shown again. Send it as: Authorization: Bearer <key>'
  const note = `${describeKey(key, clock.now())}\n${keep}\n${unknown}${isFirst ? ofFirst(key) : ''}`
  return { output: `${secret}\n`, note }
}

async function list({ keys, clock }: Dependencies, { tenant, json = false }: KeyOptions): Promise<Printed> {
  const found = await keys.list(tenant)
  if (json) return { output: found.map((key) => `${keyJson(key)}\n`).join('') }
  if (found.length === 0) return { output: '', note: 'There are no keys.\n' }
  return { output: found.map((key) => `${describeKey(key, clock.now())}\n`).join('') }
}

async function cap({ keys, clock }: Dependencies, id: string, options: KeyOptions): Promise<Printed> {
  const changed = await keys.cap(id, readCapChange(options))
  if (changed !== undefined) return { output: `${describeKey(changed, clock.now())}\n`, note: CAPPED }
  const isRevoked = (await keys.list()).some((key) => key.id === id)
  throw new KeyCommandError(
    isRevoked ? `key ${id} is revoked: no request uses it` : `there is no key ${id}: list them with "keys list"`,
  )
}

async function revoke({ keys, clock }: Dependencies, id: string): Promise<Printed> {
  if (!(await keys.revoke(id, clock.now())))
    throw new KeyCommandError(`there is no key ${id}: list them with "keys list"`)
  const isLast = await isLockedOut(keys, clock.now())
  return { output: `Key ${id} is revoked.\n`, note: isLast ? LOCKED_OUT : '' }
}

/** A warning about unknown agents. It is no error, because agents may be configured later. */
function unknownAgents({ agents = [] }: ApiKey, declared: Dependencies['declared']): string {
  const there = agents.length === 0 ? undefined : declared?.()
  const unknown = there === undefined ? [] : agents.filter((agent) => !there.has(agent))
  return there === undefined || unknown.length === 0
    ? ''
    : `\nNo such agent yet: ${unknown.join(', ')}. The key cannot use it before agents.json declares it; there are now: ${[...there].join(', ')}.\n`
}

/** Describes the effects of the first key. */
function ofFirst({ tenant, owner }: ApiKey): string {
  const begins = `\nThis is the first key: from now on every request needs one. Sessions made without a key belong to the tenant ${OPEN_CALLER.tenant}`
  const isOfTenant = tenant === OPEN_CALLER.tenant
  if (isOfTenant && owner === undefined) return `${begins}, as this key does.\n`
  const seen = isOfTenant
    ? `sees those of ${owner} alone. To make one that sees all`
    : 'does not see them. To make one that does'
  return `${begins}. This key ${seen}: npx tooltrail keys create --tenant ${OPEN_CALLER.tenant} --scope admin\n`
}
