import { yieldToEventLoop } from '../../domain/time/yield-to-event-loop.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import type { Clock } from '../../ports/clock.ts'
import type { HistoryChange, HistoryWriter, DeadLetterSink, WriteOutcome } from '../../ports/history-writer.ts'
import { bulk, type Operation } from './bulk.ts'
import { createHistoryAliases } from './history-aliases.ts'
import { documentId, indexedDocument } from './indexed-document.ts'
import { createSend, type Send, type SearchClient } from './requests.ts'

export interface WriterDependencies {
  readonly client: SearchClient
  readonly alias: string
  /** See `createHistoryAliases`. */
  readonly copies?: number | undefined
  readonly indexDeadLetters: DeadLetterSink
  readonly clock: Clock
}

/** Creates a writer to every index behind the alias. During a rebuild, these include the new index. */
export function createOpenSearchHistoryWriter({
  client,
  alias,
  copies,
  indexDeadLetters,
  clock,
}: WriterDependencies): HistoryWriter {
  const send = createSend(client)
  const aliases = createHistoryAliases({ send, alias, copies, clock })
  return {
    async write(changes) {
      if (changes.length === 0) return []
      const outcomes = await writeTo(await aliases.written(), changes, { send, clock, indexDeadLetters })
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

/** Writes the changes to the indexes of these aliases. Each alias has one index. */
export async function writeTo(
  indexes: readonly string[],
  changes: readonly HistoryChange[],
  {
    send,
    clock,
    indexDeadLetters,
  }: { readonly send: Send; readonly clock: Clock; readonly indexDeadLetters: DeadLetterSink },
): Promise<WriteOutcome[]> {
  const parts = await partsOf(changes, indexes)
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
      failure = reported.has(part.operation.id) ? undefined : await report(indexDeadLetters, part, result.error)
      reported.add(part.operation.id)
    }
    if (failure !== undefined) outcomes[part.place] = { done: false, error: failure }
  }
  return outcomes
}

/**
 * Sends a document to the dead letters. If this fails, returns the reason. The write is then retried, so that the
 * document is not lost silently.
 */
async function report(
  indexDeadLetters: DeadLetterSink,
  { change, part }: Part,
  error: string,
): Promise<string | undefined> {
  const { key, messageId } = change
  try {
    await indexDeadLetters.send({ tenant: key.tenant, session: key.session, messageId, part, error })
    return undefined
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause)
  }
}

/**
 * Returns the documents of each change for each index. Yields to the event loop between documents, because building all
 * of them takes half a second.
 */
async function partsOf(changes: readonly HistoryChange[], indexes: readonly string[]): Promise<Part[]> {
  const parts: Part[] = []
  for (const [place, change] of changes.entries()) {
    const { key, messageId, revision: version } = change
    const add = (part: string, source?: object): void => {
      const operation = { id: documentId(key, messageId, part), version, ...definedFields({ source }) }
      for (const index of indexes) parts.push({ change, place, part, operation: { index, ...operation } })
    }
    for (const document of change.documents) {
      await yieldToEventLoop()
      add(document.part, indexedDocument(document))
    }
    for (const part of change.removed) add(part)
  }
  return parts
}
