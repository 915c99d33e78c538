import type { WaitingCall } from '../../v1/runs/resource.ts'
import type { RunStep } from '../../run-steps/run-step.ts'
import { createOwnCalls } from './own-calls.ts'
import type { OutputItem } from './response-items.ts'
import { callEvents, createResponseWriter, createTextWriter, ownCallEvents } from './response-writer.ts'
import type { ResponseEvent } from './response-writer.ts'

/** Builds the output of a Response and its events from the steps of a run. */
export interface ResponseOutput {
  /** An event about the Response as a whole. */
  event(type: string, fields: object): ResponseEvent
  take(step: RunStep): ResponseEvent[]
  /**
   * Records that the run waits for these calls. `isEnd`: the Response ends here, because it asks the client for
   * results.
   */
  pause(waiting: readonly WaitingCall[]): { readonly events: ResponseEvent[]; readonly isEnd: boolean }
  /** Records that the run has ended, or waits for an approval. */
  close(): ResponseEvent[]
  readonly items: readonly OutputItem[]
}

interface Shown {
  /**
   * Returns the run, and how many times the run had asked the client for results before this Response. This is a
   * function, because a queued input may be merged into another run.
   */
  readonly where: () => { readonly runId: string; readonly asked: number }
  /** Whether calls of our own tools are shown. */
  readonly withCalls: boolean
}

export function createResponseOutput({ where, withCalls }: Shown): ResponseOutput {
  const writer = createResponseWriter()
  const texts = createTextWriter(writer, () => where().runId)
  const calls = createOwnCalls()
  /** Calls of this round that have started. Text between the deltas of a call does not start a new block. */
  const begun = new Set<number>()
  let passed = 0
  /** Whether this Response has begun. Each answer to a run's calls begins another Response of that run. */
  const isBegun = (): boolean => passed === where().asked
  const own = (ended: readonly WaitingCall[]): ResponseEvent[] =>
    withCalls && isBegun() ? ended.flatMap((call) => ownCallEvents(writer, call)) : []
  const close = (): ResponseEvent[] => [...texts.close(), ...own(calls.rest())]
  return {
    event: writer.event,
    take(step) {
      if (step.type === 'notice' || step.parentToolCallId !== undefined) return []
      switch (step.type) {
        case 'round': {
          const events = close()
          begun.clear()
          texts.begin(step, isBegun())
          return events
        }
        case 'discard':
          begun.clear()
          return isBegun() ? texts.discard(step.attempt) : []
        case 'text':
        case 'reasoning':
          return isBegun() ? texts.piece(step.type, step.text) : []
        case 'call':
          if (begun.has(step.sequence)) return []
          begun.add(step.sequence)
          return texts.close()
        case 'completion':
          calls.begin(step.message)
          return texts.close()
        case 'call_started':
          return []
        case 'call_ended':
          return own(calls.end(step.message))
        default:
          return step satisfies never
      }
    },
    pause(waiting) {
      const events = close()
      const wanted = waiting.filter(({ message }) => message.needs === 'result')
      if (wanted.length === 0) return { events, isEnd: false }
      const isEnd = isBegun()
      if (isEnd) events.push(...wanted.flatMap((call) => callEvents(writer, call)))
      passed++
      return { events, isEnd }
    },
    close,
    get items() {
      return writer.items.map(({ item }) => item)
    },
  }
}
