import type { Clock } from '../../ports/clock.ts'
import type { HistoryChange, HistoryWriter, PoisonSink, WriteOutcome } from '../../ports/history-writer.ts'
import { bulk, type Operation } from './bulk.ts'
import { createHistoryAliases } from './history-aliases.ts'
import { documentId, indexedDocument } from './indexed-document.ts'
import { createSend, type Send, type SearchClient } from './requests.ts'

export interface WriterDependencies {
  readonly client: SearchClient
  readonly alias: string
  /** As `createHistoryAliases` takes it. */
  readonly copies?: number | undefined
  readonly poison: PoisonSink
  readonly clock: Clock
}

/** Writes to every index behind the alias, and to the next one during a rebuild. */
export function createOpenSearchHistoryWriter({
  client,
  alias,
  copies,
  poison,
  clock,
}: WriterDependencies): HistoryWriter {
  const send = createSend(client)
  const aliases = createHistoryAliases({ send, alias, copies, clock })
  return {
    async write(changes) {
      if (changes.length === 0) return []
      const outcomes = await writeTo(await aliases.written(), changes, { send, clock, poison })
      if (outcomes.some(({ done }) => !done)) aliases.forget()
      return outcomes
    },
  }
}

interface Part {
  readonly change: HistoryChange
  readonly place: number
  readonly part: string
  readonly operation: Operation
}

/** Writes to these indexes, whatever the aliases say. */
export async function writeTo(
  indexes: readonly string[],
  changes: readonly HistoryChange[],
  { send, clock, poison }: { readonly send: Send; readonly clock: Clock; readonly poison: PoisonSink },
): Promise<WriteOutcome[]> {
  const parts = changes.flatMap((change, place) =>
    indexes.flatMap((index) => operationsOf(change, index).map((made): Part => ({ change, place, ...made }))),
  )
  const results = await bulk(
    send,
    clock,
    parts.map(({ operation }) => operation),
  )
  const outcomes = changes.map((): WriteOutcome => ({ done: true }))
  const reported = new Set<string>()
  for (const [at, part] of parts.entries()) {
    const result = results[at]
    if (result === undefined || result.kind === 'done') continue
    let failure: string | undefined = result.error
    if (result.kind === 'refused') {
      failure = reported.has(part.operation.id) ? undefined : await report(poison, part, result.error)
      reported.add(part.operation.id)
    }
    if (failure !== undefined) outcomes[part.place] = { done: false, error: failure }
  }
  return outcomes
}

/** Returns the reason if reporting failed: then it is tried again, so that nothing is lost silently. */
async function report(poison: PoisonSink, { change, part }: Part, error: string): Promise<string | undefined> {
  const { key, messageId } = change
  try {
    await poison.send({ tenant: key.tenant, session: key.session, messageId, part, error })
    return undefined
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause)
  }
}

function operationsOf({ key, messageId, revision, documents, removed }: HistoryChange, index: string) {
  const operation = (part: string): Operation => ({ index, id: documentId(key, messageId, part), version: revision })
  return [
    ...documents.map((document) => ({
      part: document.part,
      operation: { ...operation(document.part), source: indexedDocument(document) },
    })),
    ...removed.map((part) => ({ part, operation: operation(part) })),
  ]
}
