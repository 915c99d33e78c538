import { definedFields } from '../../../functions/domain/defined-fields.ts'
import type { Message, RunBody } from './client.ts'

export interface SentEvent {
  readonly id?: string
  readonly type: string
  readonly data: {
    readonly type: string
    readonly run?: RunBody
    readonly message?: Pick<Message, 'id' | 'role' | 'status' | 'sources'>
    readonly text?: string
    readonly round?: number
  }
}

/** Parses a text of server-sent events. Skips comments and an unfinished frame. */
export function readEvents(text: string): SentEvent[] {
  const frames = text.split('\n\n').slice(0, -1)
  return frames.flatMap((frame) => {
    const field = (name: string): string | undefined =>
      frame
        .split('\n')
        .find((line) => line.startsWith(`${name}: `))
        ?.slice(name.length + 2)
    const data = field('data')
    if (data === undefined) return []
    const id = field('id')
    return [{ type: field('event') ?? '', data: JSON.parse(data) as SentEvent['data'], ...definedFields({ id }) }]
  })
}

/** Returns the run in the last event of a stream. */
export function lastRun(text: string): RunBody {
  const run = readEvents(text).at(-1)?.data.run
  if (run === undefined) throw new Error(`the stream ends without a run: ${text.slice(-300)}`)
  return run
}
