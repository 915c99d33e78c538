import { sha256Bytes } from '../../../../domain/hash.ts'
import type { Message } from '../../../../domain/messages/message.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import {
  countedCompletion,
  totalTokens,
  type CountedCompletion,
  type UsageAccount,
} from '../../../../domain/usage/usage-count.ts'
import { NO_USAGE } from '../../../../domain/usage/usage.ts'
import type { UsageSum } from '../../../../domain/usage/usage-sums.ts'
import { numberAt, type Item } from '../../attributes.ts'
import { is, type Condition } from '../../expressions.ts'
import { partitionOf, hashOf } from '../../keys.ts'
import type { Action } from '../../table.ts'
import { counted, usageOf } from './usage-counters.ts'

/*
 * Usage is stored in separate items that outlive the sessions. Sessions of a tenant write concurrently, so the tenant's
 * sum of a day is distributed over 128 items: 4 partitions with 32 items each. If two concurrent writes change the same
 * item, the store makes one of them retry.
 */
const PARTITIONS = 4
const SUMS_OF_A_PARTITION = 32
/** Number of items per API key and day. When a run is accepted, all these items are read. */
const SUMS_OF_A_KEY = 32

/** Prefix of items for a session and a day; the hash of the owner follows. */
const SESSION_PREFIX = 'S#'
export const SUM_PREFIX = 'T#'

export const dayPartitions = (tenant: string, day: string): string[] =>
  Array.from({ length: PARTITIONS }, (_, place) => `U#${tenant}#${day}#${place}`)

/** Returns the partition of an API key's usage on one day. The key's id is hashed: it may contain any character. */
const keyPartition = (keyId: string, day: string): string => `UK#${hashOf(keyId)}#${day}`

/** Returns the prefix of the items of an owner's sessions; without an owner, of the items of all sessions. */
export const ofSessions = (owner?: string): string =>
  owner === undefined ? SESSION_PREFIX : `${SESSION_PREFIX}${hashOf(owner)}#`

/** Returns the actions that count a message; none if the message is not a completion. */
export function countUsage(key: SessionKey, message: Message | undefined, account: UsageAccount): Action[] {
  const completion = countedCompletion(message)
  return completion === undefined ? [] : countCompletion(key, completion, account)
}

/** Returns the actions that add a completion to the counts of its session, its tenant and its key. */
export function countCompletion(
  key: SessionKey,
  { day, agent, model, usage }: CountedCompletion,
  { owner, keyId }: UsageAccount,
): Action[] {
  const [first, second, third] = placesOf(key)
  const pk = dayPartitions(key.tenant, day)[first % PARTITIONS] ?? ''
  const add = counted(JSON.stringify([agent, model]), usage)
  const ownerPart = owner === undefined ? '-' : hashOf(owner)
  return [
    {
      update: { pk, sk: `${SESSION_PREFIX}${ownerPart}#${key.session}` },
      change: { set: { session: key.session, owner }, add },
    },
    { update: { pk, sk: `${SUM_PREFIX}${second % SUMS_OF_A_PARTITION}` }, change: { add } },
    ...(keyId === undefined
      ? []
      : [
          {
            update: { pk: keyPartition(keyId, day), sk: `#${third % SUMS_OF_A_KEY}` },
            change: { add: { tokens: totalTokens(usage) }, set: { expires_at: forgottenAt(day) } },
          },
        ]),
  ]
}

const DAY_SECONDS = 86_400

/** Returns the time after which DynamoDB may remove the usage of an API key on this day, in seconds since 1970. */
const forgottenAt = (day: string): number => Date.parse(day) / 1_000 + 3 * DAY_SECONDS

function placesOf(key: SessionKey): readonly [number, number, number] {
  const [first = 0, second = 0, third = 0] = sha256Bytes(partitionOf(key))
  return [first, second, third]
}

/** Selects the items with the usage of an API key on one day. */
export const sumsOfKey = (keyId: string, day: string): Condition => is('pk', keyPartition(keyId, day))

/** Returns an item's counts, by agent and model. */
export function countsOf(item: Item): (Omit<UsageSum, 'group'> & { readonly agent: string })[] {
  return Object.entries(usageOf(item)).map(([label, usage]) => {
    const [agent, model] = JSON.parse(label) as [string, string]
    const completions = numberAt(item, `u:${JSON.stringify(label)}`) ?? 0
    return { agent, model, completions, usage: { ...NO_USAGE, ...usage } }
  })
}
