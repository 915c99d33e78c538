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

/** The events of a text of server-sent events; comments are left out, an unfinished frame too. */
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

/** The run as the last event of a stream shows it. */
export function lastRun(text: string): RunBody {
  const run = readEvents(text).at(-1)?.data.run
  if (run === undefined) throw new Error(`the stream ends without a run: ${text.slice(-300)}`)
  return run
}
