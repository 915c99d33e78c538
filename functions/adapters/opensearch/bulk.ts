import type { Clock } from '../../ports/clock.ts'
import type { Send } from './requests.ts'

/** An operation that stores one document in an index, or removes it. */
export interface Operation {
  /**
   * An alias of one index. If the index was removed, its alias is missing and the write fails. A write by the index's own name
   * would create the index again.
   */
  readonly index: string
  readonly id: string
  readonly version: number
  /** The document to store; if absent, the document is removed. */
  readonly source?: object
}

export type Outcome =
  | { readonly kind: 'done' }
  /** A temporary failure. */
  | { readonly kind: 'failed'; readonly error: string }
  /** A permanent failure. */
  | { readonly kind: 'refused'; readonly error: string }

/**
 * Maximum UTF-16 units of one request. OpenSearch Serverless and small domains accept 10 MB, and a unit has at least
 * one byte.
 */
const MAX_UNITS = 3_000_000
const MAX_OPERATIONS = 500
const ATTEMPTS = 5
const FIRST_WAIT_MS = 100

interface Line {
  readonly operation: Operation
  readonly place: number
  readonly lines: readonly string[]
}

interface Item {
  readonly status: number
  readonly error?: { readonly type?: string; readonly reason?: string }
}

/**
 * Stores and removes documents with external versions. An operation counts as done if the index has a newer version of
 * the document, or has removed it. Temporary failures are retried for about three seconds.
 */
export async function bulk(send: Send, clock: Clock, operations: readonly Operation[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = operations.map(() => ({ kind: 'failed', error: 'not tried' }))
  let open = operations.map((operation, place): Line => ({ operation, place, lines: linesOf(operation) }))
  for (let attempt = 1; open.length > 0; attempt++) {
    for (const batch of batches(open)) {
      for (const [index, outcome] of (await sendBatch(send, batch)).entries()) {
        const line = batch[index]
        if (line !== undefined) outcomes[line.place] = outcome
      }
    }
    open = open.filter(({ place }) => outcomes[place]?.kind === 'failed')
    if (attempt >= ATTEMPTS || open.length === 0) break
    await clock.sleep(FIRST_WAIT_MS * 2 ** (attempt - 1) * (0.5 + Math.random()))
  }
  return outcomes
}

function linesOf({ index, id, version, source }: Operation): string[] {
  const meta = { _index: index, require_alias: true, _id: id, version, version_type: 'external' }
  if (source === undefined) return [JSON.stringify({ delete: meta })]
  return [JSON.stringify({ index: meta }), JSON.stringify(source)]
}

/**
 * Returns updates that protect removals: one for each index to which the batch adds nothing. The engine ignores
 * `require_alias` on removals with a version. But if one operation of a request requires an alias, all operations of
 * this request on the same name require it. Each update names a nonexistent document, so it changes nothing.
 */
function guardsOf(batch: readonly Line[]): string[][] {
  const stored = new Set(batch.flatMap(({ operation: { index, source } }) => (source === undefined ? [] : [index])))
  const removed = new Set(batch.map(({ operation }) => operation.index).filter((index) => !stored.has(index)))
  return [...removed].map((index) => [
    JSON.stringify({ update: { _index: index, require_alias: true, _id: 'none' } }),
    JSON.stringify({ doc: {} }),
  ])
}

function batches(lines: readonly Line[]): Line[][] {
  const result: Line[][] = []
  let units = 0
  for (const line of lines) {
    const length = line.lines.reduce((sum, text) => sum + text.length + 1, 0)
    const last = result.at(-1)
    if (last === undefined || last.length >= MAX_OPERATIONS || units + length > MAX_UNITS) {
      result.push([line])
      units = length
    } else {
      last.push(line)
      units += length
    }
  }
  return result
}

async function sendBatch(send: Send, batch: readonly Line[]): Promise<Outcome[]> {
  const every = (outcome: Outcome): Outcome[] => batch.map(() => outcome)
  const guards = guardsOf(batch)
  const lines = [...guards.flat(), ...batch.flatMap((line) => line.lines)]
  let response
  try {
    response = await send({ method: 'POST', path: '/_bulk', lines })
  } catch (error) {
    return every({ kind: 'failed', error: error instanceof Error ? error.message : String(error) })
  }
  if (response.status < 300) {
    const { items } = response.body as { readonly items: readonly { readonly [action: string]: Item }[] }
    return batch.map(({ operation }, place) =>
      outcomeOf(operation, Object.values(items[items.length - batch.length + place] ?? {})[0]),
    )
  }
  const error = `${response.status}: ${JSON.stringify(response.body).slice(0, 500)}`
  // Only these statuses can be caused by one document. For these, the batch is halved repeatedly, until the faulty
  // document is sent alone.
  if (response.status !== 400 && response.status !== 413) return every({ kind: 'failed', error })
  if (batch.length === 1) return every({ kind: 'refused', error })
  const half = Math.ceil(batch.length / 2)
  return [...(await sendBatch(send, batch.slice(0, half))), ...(await sendBatch(send, batch.slice(half)))]
}

function outcomeOf(operation: Operation, item: Item | undefined): Outcome {
  if (item === undefined) return { kind: 'failed', error: 'no response' }
  const { status, error } = item
  const text = `${status}: ${error?.type ?? ''}: ${error?.reason ?? ''}`.slice(0, 500)
  if (status < 300 || status === 409) return { kind: 'done' }
  if (status === 404 && operation.source === undefined && error === undefined) return { kind: 'done' }
  // The index is missing, or its node is full or rejects requests. The document itself is valid.
  if (status === 404 || status === 429 || status === 403 || status === 401 || status >= 500)
    return { kind: 'failed', error: text }
  return { kind: 'refused', error: text }
}
