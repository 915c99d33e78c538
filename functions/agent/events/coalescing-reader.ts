import type { SessionKey } from '../../domain/session.ts'
import type { LogReader } from '../../ports/log-reader.ts'

/** A read in flight. `begun` is its position in the order of all reads. */
interface Read {
  readonly begun: number
  readonly result: Promise<{ readonly value: unknown; readonly ended: number }>
}

interface Reads {
  order: number
  readonly inFlight: Map<string, Read>
}

const ofReader = new WeakMap<LogReader, Reads>()

/** A reader that coalesces concurrent identical reads. */
export interface SharedReader {
  readonly reader: LogReader
  /** After this call, reads return data that is at least as new as the data stored now. */
  begin(): void
}

/**
 * Creates one consumer's reader of runs and messages. Each read returns at least the state that was stored at the last
 * `begin`, and never an older state than the consumer's previous read.
 */
export function sharedReader(reader: LogReader): SharedReader {
  const reads = ofReader.get(reader) ?? { order: 0, inFlight: new Map<string, Read>() }
  ofReader.set(reader, reads)
  let since = reads.order

  async function read<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    let one = reads.inFlight.get(name)
    if (one === undefined || one.begun <= since) {
      const result = work().then((value) => ({ value, ended: reads.order }))
      const mine: Read = { begun: ++reads.order, result }
      reads.inFlight.set(name, (one = mine))
      const forget = (): void => {
        if (reads.inFlight.get(name) === mine) reads.inFlight.delete(name)
      }
      result.then(forget, forget)
    }
    const { value, ended } = await one.result
    since = ended
    return value as Result
  }

  const named = (kind: string, key: SessionKey, what: unknown): string =>
    JSON.stringify([kind, key.tenant, key.session, what])
  return {
    begin: () => void (since = reads.order),
    reader: {
      ...reader,
      run: (key, id) => read(named('run', key, id), () => reader.run(key, id)),
      messages: (key, query) => read(named('messages', key, query), () => reader.messages(key, query)),
    },
  }
}
