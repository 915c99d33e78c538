import { isDeepStrictEqual } from 'node:util'
import type { Message } from '../../../functions/domain/messages/message.ts'
import type { SessionKey } from '../../../functions/domain/session.ts'
import { createIndexer } from '../../../functions/history/indexer.ts'
import type { BatchResult } from '../../../functions/history/indexer.ts'
import type { RowChange } from '../../../functions/ports/message-rows.ts'
import { mostDocuments } from '../../../functions/search/documents/documents.ts'
import { Violation } from '../../../test/contracts/schedules/harness.ts'
import type { SimulatedIndex } from './simulated-index.ts'
import { FUNCTION_MS } from '../world/instances.ts'
import { throughNetwork } from '../world/network.ts'
import { createSearchEngine } from './search-engine.ts'
import type { SearchEngine } from './search-engine.ts'
import type { Sessions } from '../actors/sessions.ts'
import type { MemoryOutputs } from '../world/outputs.ts'
import type { SharedStore } from '../world/stores.ts'
import { createProcess } from '../world/timeline.ts'
import type { Process } from '../world/timeline.ts'
import { pause, processNow } from '../world/virtual-globals.ts'
import { isDisturbed } from '../harness.ts'
import type { Harness } from '../harness.ts'

const SHARDS = 2
const MAX_RECORDS = 20
const POLL_MS = 400
/** Maximum delay of a repeated batch. It exceeds the time for which the engine remembers removed documents. */
const AGAIN_MS = 240_000
/** Time that the function keeps free at the end of an invocation. */
const MARGIN_MS = 30_000

interface StreamRecord {
  readonly sequence: string
  readonly at: number
  readonly change: RowChange
}

interface Shard {
  readonly records: StreamRecord[]
  /** Number of processed records. */
  position: number
}

interface Parts {
  readonly harness: Harness
  readonly store: SharedStore
  readonly outputs: MemoryOutputs
  readonly sessions: Sessions
}

/**
 * Creates an index that follows the store's change stream. Each record is delivered after a delay and at least once.
 * Records of one session keep their order.
 */
export function createStreamedIndex(parts: Parts): SimulatedIndex {
  const { harness, sessions } = parts
  const engine = createSearchEngine(harness)
  const shards = Array.from({ length: SHARDS }, (): Shard => ({ records: [], position: 0 }))
  const stream = createStream(harness, shards)
  let again = 0
  const indexers = createIndexers(parts, engine)

  function poll(shard: Shard): void {
    harness.timeline.after(POLL_MS * (0.5 + harness.dice.next('stream')), undefined, () => {
      const batch = shard.records.slice(shard.position, shard.position + 1 + harness.dice.below('batch', MAX_RECORDS))
      if (batch.length === 0) return poll(shard)
      void indexers.handle(batch).then((result) => {
        if (result !== undefined) advance(shard, batch, result)
        poll(shard)
      })
    })
  }

  function advance(shard: Shard, batch: readonly StreamRecord[], { failed: [failed] }: BatchResult): void {
    const done = failed === undefined ? batch.length : batch.findIndex(({ sequence }) => sequence === failed)
    // Records whose acknowledgement is lost are sent again. Their whole batch is repeated: at once, or much later.
    if (!disturbs(harness, 'forgotten')) shard.position += done
    if (disturbs(harness, 'repeated')) repeat(batch)
  }

  function repeat(batch: readonly StreamRecord[]): void {
    again++
    harness.timeline.after(AGAIN_MS * harness.dice.next('again'), undefined, () => {
      void indexers.handle(batch).then(() => again--)
    })
  }

  for (const watch of sessions.all) stream.note(watch.key, watch.seen.messages)
  for (const shard of shards) poll(shard)
  return {
    searched: engine.index,
    observe(call, session) {
      const watch = sessions.all.find(({ key }) => key.session === session)
      if (watch === undefined) return
      if (watch.seen.header?.status === 'live') stream.note(watch.key, watch.seen.messages)
      else if (call === 'deletion.markRemoved') stream.note(watch.key, [])
    },
    isCaughtUp: () => again === 0 && shards.every(({ records, position }) => position >= records.length),
    documents: async (key) => engine.documents(key),
    fault: () => undefined,
  }
}

const disturbs = (harness: Harness, what: string): boolean =>
  isDisturbed(harness) && harness.dice.chance(`index ${what}`, 0.1)

/** Creates the store's change stream. It has one record for each changed row of a session's messages. */
function createStream({ timeline }: Harness, shards: readonly Shard[]) {
  const known = new Map<string, { message: Message; revision: number; documents: number }>()
  const namesOf = new Map<string, Set<string>>()
  let sequences = 0

  function add({ session }: SessionKey, change: RowChange): void {
    const number = [...session].reduce((sum, letter) => sum + letter.charCodeAt(0), 0)
    const record = { sequence: String(++sequences), at: Math.floor(timeline.now()), change }
    shards[number % shards.length]?.records.push(record)
  }

  return {
    note(key: SessionKey, messages: readonly Message[]): void {
      const names = namesOf.get(key.session) ?? new Set()
      namesOf.set(key.session, names)
      const ids = new Set(messages.map(({ id }) => id))
      for (const message of messages) {
        const name = `${key.session} ${message.id}`
        const before = known.get(name)
        if (before !== undefined && isDeepStrictEqual(before.message, message)) continue
        const revision = (before?.revision ?? 0) + 1
        const documents = Math.max(before?.documents ?? 0, mostDocuments(message))
        known.set(name, { message, revision, documents })
        names.add(message.id)
        add(key, {
          stored: { key, messageId: message.id, revision, role: message.role, documents, message: async () => message },
        })
      }
      for (const id of names) {
        if (ids.has(id)) continue
        const { message, revision, documents } = known.get(`${key.session} ${id}`) ?? {}
        names.delete(id)
        if (message === undefined || revision === undefined || documents === undefined) continue
        add(key, { removed: { key, messageId: id, revision, role: message.role, documents } })
      }
    },
  }
}

/** Creates the functions that index batches. Each function processes only one batch at a time. */
function createIndexers({ harness, store, outputs }: Parts, engine: SearchEngine) {
  const free: { readonly process: Process; readonly index: ReturnType<typeof open> }[] = []
  let boots = 0

  function open(process: Process) {
    const clock = { now: () => processNow(process), sleep: (milliseconds: number) => pause(process, milliseconds) }
    const over = <Port extends object>(name: string, port: Port): Port =>
      throughNetwork(harness, process, name, port, () => undefined)
    return createIndexer<StreamRecord>({
      records: {
        sequence: ({ sequence }) => sequence,
        at: ({ at }) => at,
        change: ({ change }) => change,
        superseded: () => undefined,
      },
      rows: { async *between() {} },
      reader: { replacements: async () => [] },
      sessions: over('sessions', { read: store.portsFor(clock).sessions.read }),
      outputs: over('outputs', { read: outputs.read }),
      writer: over('index', { write: engine.write }),
      indexDeadLetters: { send: async ({ messageId, error }) => harness.fail(deadLetter(messageId, error)) },
      clock,
      logger: { warn: (message, fields) => harness.note(`${process.name} logs: ${message} ${JSON.stringify(fields)}`) },
    })
  }

  function boot() {
    const process = createProcess(`x${++boots}`)
    return { process, index: open(process) }
  }

  return {
    /** Indexes a batch. Resolves to undefined if the function dies before the batch is indexed. */
    handle: (batch: readonly StreamRecord[]): Promise<BatchResult | undefined> =>
      new Promise((resolve) => {
        const instance = free.pop() ?? boot()
        const { process } = instance
        harness.timeline.resume(process)
        harness.note(`${process.name} indexes ${batch.map(({ sequence }) => sequence).join(' ')}`, 'routine')
        let isOver = false
        const die = (): void => {
          if (isOver) return
          isOver = true
          harness.timeline.kill(process)
          harness.note(`${process.name} is dead`)
          resolve(undefined)
        }
        const over = harness.timeline.after(FUNCTION_MS, undefined, die)
        if (disturbs(harness, 'killed')) harness.timeline.after(300 * harness.dice.next('index kill'), undefined, die)
        const end = (result: BatchResult): void => {
          if (isOver) return
          isOver = over.cancelled = true
          harness.timeline.stop(process)
          free.push(instance)
          resolve(result)
        }
        harness.timeline.after(0, process, () => {
          const signal = AbortSignal.timeout(FUNCTION_MS - MARGIN_MS)
          void instance.index(batch, signal).then((result) => harness.timeline.after(0, undefined, () => end(result)))
        })
      }),
  }
}

const deadLetter = (messageId: string, error: string): Violation =>
  new Violation('nothing is put aside that can be indexed', `${messageId}: ${error}`)
