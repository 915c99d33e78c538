import type { Message } from '../../functions/client/api-types.ts'
import { client } from '../shell/api.ts'
import { createStore } from '../shell/store.ts'
import type { Store } from '../shell/store.ts'

/** Bytes per read. */
const PAGE = 256 * 1_024
/**
 * Maximum length of a line, in characters. A longer line is divided, because browsers cannot lay out lines of
 * megabytes.
 */
const MAX_LINE_CHARACTERS = 2_000

export interface Output {
  readonly lines: readonly string[]
  /** Number of bytes read so far. */
  readonly read: number
  readonly bytes: number
  readonly loading: boolean
  readonly error: unknown
}
export interface OutputStore extends Store<Output> {
  more(): Promise<void>
  /**
   * Returns the number of the next line after `from` that contains the text; undefined if no such line exists. Reads
   * more of the output until a line is found.
   */
  find(text: string, from: number): Promise<number | undefined>
  close(): void
}

/** Opens the whole output of a call, which is read in pieces. */
export function openOutput(message: Message): OutputStore {
  const bytes = message.output?.bytes ?? 0
  const store = createStore<Output>({ lines: [], read: 0, bytes, loading: false, error: undefined })
  const closing = new AbortController()
  const decoder = new TextDecoder()
  let tail = ''
  const change = (part: Partial<Output>): void => store.set({ ...store.get(), ...part })
  let reading: Promise<void> | undefined

  async function readPage(): Promise<void> {
    const { read, lines } = store.get()
    if (read >= bytes) return
    change({ loading: true, error: undefined })
    try {
      const last = Math.min(bytes, read + PAGE) - 1
      const { session_id: session, id } = message
      const response = await client.readOutput(session, id, { range: [read, last], signal: closing.signal })
      const isEnd = last + 1 >= bytes
      const text = tail + decoder.decode(await response.arrayBuffer(), { stream: !isEnd })
      const split = text.split('\n').flatMap(divided)
      tail = isEnd ? '' : (split.pop() ?? '')
      change({ lines: [...lines, ...split], read: last + 1, loading: false })
    } catch (error) {
      if (!closing.signal.aborted) change({ error, loading: false })
    }
  }
  /** Reads the next piece. Concurrent callers share one read. */
  const more = (): Promise<void> => (reading ??= readPage().finally(() => (reading = undefined)))

  return {
    ...store,
    more,
    async find(text, from) {
      const wanted = text.toLowerCase()
      for (let at = from + 1; ; at++) {
        while (at >= store.get().lines.length) {
          if (store.get().read >= bytes || closing.signal.aborted) return undefined
          await more()
          if (store.get().error !== undefined) return undefined
        }
        if (store.get().lines[at]?.toLowerCase().includes(wanted) === true) return at
      }
    },
    close: () => closing.abort(),
  }
}

/** Returns the numbers of the lines that contain the text, ignoring case. Empty for an empty text. */
export function linesWith(lines: readonly string[], text: string): readonly number[] {
  const wanted = text.toLowerCase()
  if (wanted === '') return []
  return lines.flatMap((line, at) => (line.toLowerCase().includes(wanted) ? [at] : []))
}

function divided(line: string): string[] {
  if (line.length <= MAX_LINE_CHARACTERS) return [line]
  return Array.from({ length: Math.ceil(line.length / MAX_LINE_CHARACTERS) }, (_, index) =>
    line.slice(index * MAX_LINE_CHARACTERS, (index + 1) * MAX_LINE_CHARACTERS),
  )
}
