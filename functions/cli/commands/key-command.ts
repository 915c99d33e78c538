import { parseArgs } from 'node:util'
import { MOST_ACTIVE_RUNS, MOST_OPEN_CALLS, type ApiKey, type Scope } from '../../domain/keys/api-key.ts'
import { isTenant, nextId } from '../../domain/ids.ts'
import type { Clock } from '../../ports/clock.ts'
import type { KeyStore } from '../../ports/key-store.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { isLockedOut, OPEN_CALLER } from '../../access/caller.ts'
import { hashKeySecret, newKeySecret } from '../../access/key-secret.ts'
import { timeText } from '../../http/v1/time-text.ts'

export const KEYS_USAGE = `Usage:
  npx tooltrail keys create --tenant <tenant> --scope <read|write|admin> [--scope …] [--owner <owner>] [--agent <agent>] [--agent …] [--rps <n>] [--active-runs <n>] [--open-calls <n>] [--tokens-per-day <n>]
  npx tooltrail keys list [--tenant <tenant>]
  npx tooltrail keys revoke <id>

These work on this machine, or with --env <environment> on a deployed one.

create prints the key once; only its hash is kept. read: GET requests. write: all others. admin: both.
--owner binds the key to the sessions of one owner, whatever its agents may search. --agent names the agents it may use; by
default all. --rps caps its requests per second, --active-runs its runs at a time,
--open-calls its streams and waiting calls at a time, --tokens-per-day the tokens of its runs on a day (UTC).
`

/** As in `agents.json`. */
const AGENT_NAME = /^[A-Za-z0-9_-]{1,64}$/

/** More than a day of any provider. */
const MOST_TOKENS = 999_999_999_999

const LOCKED_OUT =
  'All keys are revoked: no request is accepted until you make another one: npx tooltrail keys create --tenant <tenant> --scope admin\n'

/** A mistake on the command line; the message names it. */
export class KeyCommandError extends Error {
  override readonly name = 'KeyCommandError'
}

interface Dependencies {
  readonly keys: KeyStore
  readonly clock: Clock
  /** The names of the agents that there are; absent: not known here. */
  readonly declared?: () => ReadonlySet<string>
}

/** Makes, lists or revokes API keys; returns what to print. Rejects with `KeyCommandError`. */
export async function runKeyCommand(
  { keys, clock, declared }: Dependencies,
  words: readonly string[],
): Promise<string> {
  const { values, positionals } = parseWords(words)
  const [command, id, ...more] = positionals
  if (values.help === true) return KEYS_USAGE
  if (command === undefined) throw new KeyCommandError('name what to do: create, list or revoke')
  if (more.length > 0 || (id !== undefined && command !== 'revoke')) throw new KeyCommandError(`unexpected: ${id}`)
  switch (command) {
    case 'create': {
      const secret = newKeySecret()
      const key = newKey(values, clock.now())
      const unknown = unknownAgents(key, declared)
      const isFirst = !(await keys.any())
      await keys.create(hashKeySecret(secret), key)
      const keep = 'Keep the key: it is not shown again. Send it as: Authorization: Bearer <key>'
      return `${secret}\n\n${describe(key)}\n${keep}\n${unknown}${isFirst ? ofFirst(key) : ''}`
    }
    case 'list': {
      const found = await keys.list(values.tenant)
      return found.length === 0 ? 'There are no keys.\n' : found.map((key) => `${describe(key)}\n`).join('')
    }
    case 'revoke':
      if (id === undefined) throw new KeyCommandError('revoke needs the id of a key')
      if (!(await keys.revoke(id, clock.now())))
        throw new KeyCommandError(`there is no key ${id}: list them with "keys list"`)
      return `Key ${id} is revoked.\n${(await isLockedOut(keys)) ? LOCKED_OUT : ''}`
    default:
      throw new KeyCommandError(`there is no command ${command}`)
  }
}

/** Agents may be declared later, so it is no mistake to name them before. */
function unknownAgents({ agents = [] }: ApiKey, declared: Dependencies['declared']): string {
  const there = agents.length === 0 ? undefined : declared?.()
  const unknown = there === undefined ? [] : agents.filter((agent) => !there.has(agent))
  return there === undefined || unknown.length === 0
    ? ''
    : `\nNo such agent yet: ${unknown.join(', ')}. The key cannot use it before agents.json declares it; there are now: ${[...there].join(', ')}.\n`
}

/** What changes with the first key. */
function ofFirst({ tenant, owner }: ApiKey): string {
  const begins = `\nThis is the first key: from now on every request needs one. Sessions made without a key belong to the tenant ${OPEN_CALLER.tenant}`
  const isOfTenant = tenant === OPEN_CALLER.tenant
  if (isOfTenant && owner === undefined) return `${begins}, as this key does.\n`
  const seen = isOfTenant
    ? `sees those of ${owner} alone. To make one that sees all`
    : 'does not see them. To make one that does'
  return `${begins}. This key ${seen}: npx tooltrail keys create --tenant ${OPEN_CALLER.tenant} --scope admin\n`
}

function parseWords(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      allowPositionals: true,
      options: {
        tenant: { type: 'string' },
        scope: { type: 'string', multiple: true },
        owner: { type: 'string' },
        agent: { type: 'string', multiple: true },
        rps: { type: 'string' },
        'active-runs': { type: 'string' },
        'open-calls': { type: 'string' },
        'tokens-per-day': { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    throw new KeyCommandError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

function newKey(values: ReturnType<typeof parseWords>['values'], now: number): ApiKey {
  const { tenant, owner, agent: agents } = values
  if (tenant === undefined || !isTenant(tenant))
    throw new KeyCommandError(
      `--tenant ${tenant === undefined ? 'is missing: it must' : 'must'} be 1–64 of a-z 0-9 -; sessions made without a key belong to: --tenant ${OPEN_CALLER.tenant}`,
    )
  if (owner !== undefined && (owner.length === 0 || owner.length > 256))
    throw new KeyCommandError('--owner must have 1–256 characters')
  if (agents?.every((agent) => AGENT_NAME.test(agent)) === false)
    throw new KeyCommandError('--agent must be 1–64 of A-Z a-z 0-9 _ -')
  const caps = {
    requestsPerSecond: positive('--rps', values.rps),
    activeRuns: positive('--active-runs', values['active-runs'], MOST_ACTIVE_RUNS),
    openCalls: positive('--open-calls', values['open-calls'], MOST_OPEN_CALLS),
    tokensPerDay: positive('--tokens-per-day', values['tokens-per-day'], MOST_TOKENS),
  }
  return {
    id: `key_${nextId(undefined, now)}`,
    tenant,
    scopes: readScopes(values.scope ?? []),
    ...definedFields({ owner, agents: agents && [...new Set(agents)] }),
    caps: definedFields(caps),
    createdAt: now,
  }
}

function readScopes(words: readonly string[]): Scope[] {
  const scopes = [...new Set(words.flatMap((word) => word.split(',')))]
  if (!scopes.every(isScope)) throw new KeyCommandError('--scope must be read, write or admin')
  if (scopes.length === 0) throw new KeyCommandError('--scope is missing: it must be read, write or admin')
  return scopes.filter(isScope)
}

const isScope = (word: string): word is Scope => word === 'read' || word === 'write' || word === 'admin'

function positive(name: string, word: string | undefined, most = 999_999): number | undefined {
  if (word === undefined) return undefined
  if (!/^[1-9]\d{0,11}$/.test(word) || Number(word) > most)
    throw new KeyCommandError(`${name} must be an integer from 1 to ${most}`)
  return Number(word)
}

function describe(key: ApiKey): string {
  const caps = [
    ...(key.caps.requestsPerSecond === undefined ? [] : [`${key.caps.requestsPerSecond} requests/s`]),
    ...(key.caps.activeRuns === undefined ? [] : [`${key.caps.activeRuns} active runs`]),
    ...(key.caps.openCalls === undefined ? [] : [`${key.caps.openCalls} open calls`]),
    ...(key.caps.tokensPerDay === undefined ? [] : [`${key.caps.tokensPerDay} tokens/day`]),
  ]
  return [
    key.id,
    `tenant ${key.tenant}`,
    key.scopes.join('+'),
    ...(key.owner === undefined ? [] : [`owner ${key.owner}`]),
    ...(key.agents === undefined ? [] : [`agents ${key.agents.join(', ')}`]),
    ...caps,
    `created ${timeText(key.createdAt)}`,
    ...(key.revokedAt === undefined ? [] : [`revoked ${timeText(key.revokedAt)}`]),
  ].join('  ')
}
