import { steadyTime } from '../../domain/time/steady-time.ts'
import { TooltrailError } from '../../domain/errors.ts'
import type { Clock } from '../../ports/clock.ts'
import type { HistoryBuilder } from '../../ports/history-build.ts'
import type { HistoryChange, DeadLetterSink } from '../../ports/history-writer.ts'
import { createHistoryAliases, KNOWN_MS, ownAlias } from './history-aliases.ts'
import { writeTo } from './history-writer.ts'
import { documentId } from './indexed-document.ts'
import { ask, createSend, type Send, type SearchClient } from './requests.ts'

interface Dependencies {
  readonly client: SearchClient
  readonly alias: string
  /** See `createHistoryAliases`. */
  readonly copies?: number | undefined
  readonly indexDeadLetters: DeadLetterSink
  readonly clock: Clock
}

/**
 * Number of the latest written documents that must be searchable before searches switch to the new index. Every shard
 * has some of these documents.
 */
const WATCHED = 1_000
const POLL_INTERVAL_MS = 500
/** Timeout until written documents are searchable. OpenSearch Serverless refreshes about every 10 s. */
const FINDABLE_MS = 120_000
/** Time after which other processes have finished their current searches, and their cached aliases have expired. */
const GRACE_MS = 2 * KNOWN_MS

/** Creates the builder of an alias's next index. */
export function createOpenSearchHistoryBuilder({
  client,
  alias,
  copies,
  indexDeadLetters,
  clock,
}: Dependencies): HistoryBuilder {
  const send = createSend(client)
  const aliases = createHistoryAliases({ send, alias, copies, clock })
  return {
    async begin() {
      await aliases.ensure()
      const searched = await aliases.searched()
      const leftovers = (await aliases.all()).filter((name) => !searched.includes(name))
      const index = await aliases.build(leftovers)
      await clock.sleep(GRACE_MS)
      // Leftovers are removed only after this wait. During this wait, processes of earlier versions may write to leftovers, and
      // a write to a removed index would create the index again.
      for (const left of leftovers) await aliases.drop(left)
      let latest: readonly string[] = []
      return {
        async write(changes) {
          const outcomes = await writeTo([ownAlias(index)], changes, { send, clock, indexDeadLetters })
          latest = [...latest, ...changes.flatMap(idsOf)].slice(-WATCHED)
          return outcomes
        },
        async publish() {
          await untilFindable({ send, clock }, index, latest)
          const before = await aliases.searched()
          await aliases.swap(index)
          await clock.sleep(GRACE_MS)
          for (const old of before) if (old !== index) await aliases.drop(old)
        },
        async abandon() {
          // A publication that failed may still have switched the searches. An index that is searched must not be
          // dropped.
          if (!(await aliases.searched()).includes(index)) await aliases.drop(index)
        },
      }
    },
  }
}

const idsOf = ({ key, messageId, documents }: HistoryChange): string[] =>
  documents.map(({ part }) => documentId(key, messageId, part))

/** Waits until written documents are searchable, which only a search can show. */
async function untilFindable(
  { send, clock }: { readonly send: Send; readonly clock: Clock },
  index: string,
  ids: readonly string[],
): Promise<void> {
  const now = steadyTime(() => clock.now())
  const deadline = now() + FINDABLE_MS
  while (ids.length > 0) {
    const stored = await countStored(send, index, ids)
    const found = await ask<{ hits: { total: { value: number } } }>(send, {
      method: 'POST',
      path: `/${index}/_search`,
      body: { size: 0, track_total_hits: true, query: { ids: { values: ids } } },
    })
    if (found.hits.total.value >= stored) return
    if (now() > deadline)
      throw new TooltrailError('search_unavailable', `${index} does not show what was stored in it`, {
        retryable: true,
      })
    await clock.sleep(POLL_INTERVAL_MS)
  }
}

/** Counts the stored documents, because some may have been removed or rejected. */
async function countStored(send: Send, index: string, ids: readonly string[]): Promise<number> {
  const [path, body] = [`/${index}/_mget`, { docs: ids.map((_id) => ({ _id, _source: false })) }]
  const { docs } = await ask<{ docs: readonly { found?: boolean }[] }>(send, { method: 'GET', path, body })
  return docs.filter(({ found }) => found === true).length
}
