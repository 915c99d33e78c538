import { z } from 'zod'
import { OPEN_CALLER } from '../../../access/caller.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { isTenant, nextId } from '../../../domain/ids.ts'
import {
  MAX_ACTIVE_RUNS,
  MAX_OPEN_REQUESTS,
  type ApiKey,
  type CapChange,
  type Scope,
} from '../../../domain/keys/api-key.ts'

/** The pattern of agents' names in `agents.json`. */
const AGENT_NAME = /^[A-Za-z0-9_-]{1,64}$/

/** No control characters, because names are shown in terminals and lists. */
const KEY_NAME = /^[^\p{Cc}\p{Bidi_Control}]{1,64}$/u

/** Limit of a token cap. No provider serves as many tokens in a day. */
const MAX_TOKENS = 999_999_999_999
const MAX_REQUESTS_PER_SECOND = 999_999
const MAX_DAYS = 36_500
const DAY_MS = 86_400_000

/** The caps by their options. */
const CAP_OPTIONS = {
  rps: { option: '--rps', cap: 'requestsPerSecond', max: MAX_REQUESTS_PER_SECOND },
  activeRuns: { option: '--active-runs', cap: 'activeRuns', max: MAX_ACTIVE_RUNS },
  openCalls: { option: '--open-calls', cap: 'openCalls', max: MAX_OPEN_REQUESTS },
  tokensPerDay: { option: '--tokens-per-day', cap: 'tokensPerDay', max: MAX_TOKENS },
} as const

type CapName = keyof typeof CAP_OPTIONS
const CAP_NAMES = Object.keys(CAP_OPTIONS) as readonly CapName[]

/** The values of the cap options, as they were typed. */
export type CapOptions = { readonly [name in CapName]?: string }

/** The values of the options of `keys create`, as they were typed. */
export interface KeyOptions extends CapOptions {
  readonly tenant?: string | undefined
  readonly scope?: readonly string[]
  readonly name?: string
  readonly owner?: string
  readonly agent?: readonly string[]
  readonly expires?: string
}

/** A mistake on the command line; the message names it. */
export class KeyCommandError extends Error {
  override readonly name = 'KeyCommandError'
}

/** Builds the key that the options of `keys create` describe. Throws `KeyCommandError`. */
export function newKey(options: KeyOptions, now: number): ApiKey {
  const { tenant, name, owner, agent: agents, expires } = options
  if (tenant === undefined || !isTenant(tenant))
    throw new KeyCommandError(
      `--tenant ${tenant === undefined ? 'is missing: it must' : 'must'} be 1–64 of a-z 0-9 -; sessions made without a key belong to: --tenant ${OPEN_CALLER.tenant}`,
    )
  if (name !== undefined && (!KEY_NAME.test(name) || name.trim() !== name))
    throw new KeyCommandError('--name must have 1–64 characters, without control characters or spaces at its ends')
  if (owner !== undefined && (owner.length === 0 || owner.length > 256))
    throw new KeyCommandError('--owner must have 1–256 characters')
  if (agents?.every((agent) => AGENT_NAME.test(agent)) === false)
    throw new KeyCommandError('--agent must be 1–64 of A-Z a-z 0-9 _ -')
  const caps = CAP_NAMES.map((name) => {
    const { option, cap, max } = CAP_OPTIONS[name]
    return [cap, readLimit(option, options[name], max)]
  })
  return {
    id: `key_${nextId(undefined, now)}`,
    tenant,
    scopes: readScopes(options.scope ?? []),
    ...definedFields({
      name,
      owner,
      agents: agents && [...new Set(agents)],
      expiresAt: expires === undefined ? undefined : readExpiry(expires, now),
    }),
    caps: definedFields(Object.fromEntries(caps) as Record<string, number | undefined>),
    createdAt: now,
  }
}

/** Reads the caps that `keys cap` changes; `none` removes a cap. Throws `KeyCommandError`. */
export function readCapChange(options: CapOptions): CapChange {
  const change = CAP_NAMES.flatMap((name) => {
    const { option, cap, max } = CAP_OPTIONS[name]
    const text = options[name]
    return text === undefined
      ? []
      : [[cap, text === 'none' ? null : readLimit(option, text, max, ', or none')] as const]
  })
  if (change.length > 0) return Object.fromEntries(change)
  const known = Object.values(CAP_OPTIONS).map(({ option }) => option)
  throw new KeyCommandError(`name the caps to change: ${known.join(', ')}, each with a number or none`)
}

function readLimit(option: string, text: string | undefined, max: number, otherwise = ''): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,11}$/.test(text) || Number(text) > max)
    throw new KeyCommandError(`${option} must be an integer from 1 to ${max}${otherwise}`)
  return Number(text)
}

const isoTime = z.union([z.iso.datetime({ offset: true, local: true }), z.iso.date()])

/** Reads a number of days from now, a date (its first moment in UTC), or a time (in UTC unless it has a zone). */
function readExpiry(text: string, now: number): number {
  const days = /^([1-9]\d{0,4})d$/.exec(text)?.[1]
  if (days !== undefined && Number(days) <= MAX_DAYS) return now + Number(days) * DAY_MS
  const time = isoTime.safeParse(text).success ? Date.parse(/T[\d:.]+$/.test(text) ? `${text}Z` : text) : Number.NaN
  if (Number.isNaN(time) || time > now + MAX_DAYS * DAY_MS)
    throw new KeyCommandError(
      `--expires must be a number of days up to ${MAX_DAYS} such as 90d, a date such as 2027-01-31, or a time such as 2027-01-31T09:30:00Z`,
    )
  if (time <= now) throw new KeyCommandError(`--expires must be in the future; ${text} is past`)
  return time
}

function readScopes(texts: readonly string[]): Scope[] {
  const scopes = [...new Set(texts.flatMap((text) => text.split(',')))]
  if (!scopes.every(isScope)) throw new KeyCommandError('--scope must be read, write or admin')
  if (scopes.length === 0) throw new KeyCommandError('--scope is missing: it must be read, write or admin')
  return scopes.filter(isScope)
}

const isScope = (text: string): text is Scope => text === 'read' || text === 'write' || text === 'admin'
