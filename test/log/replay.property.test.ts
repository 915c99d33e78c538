/* Evidence, replay: Every request is valid, and begins with the previous one. */
import { fc } from '../generators/seeded.ts'
import { describe, expect, it } from 'vitest'
import type { Message } from '../../functions/domain/messages/message.ts'
import type { RequestMessage } from '../../functions/domain/model-request.ts'
import { replay } from '../../functions/log/replay.ts'
import { anyLog, SECRET, settledLog } from '../generators/logs.ts'
import { requestFaults } from '../generators/request-faults.ts'
import { requestPoints, withoutMedia } from '../generators/request-points.ts'
import type { Point } from '../generators/request-points.ts'

const RUNS = { numRuns: 500 }
const policy = fc.constantFrom('full' as const, 'conversation' as const)

/** Id of the run that makes the request: the latest run. Empty if the log is empty. */
const current = (log: readonly Message[]): string => log.at(-1)?.runId ?? ''

describe('replay', () => {
  it('makes a valid request: each round has exactly one result per call, in order (promises R1, R2)', () => {
    fc.assert(
      fc.property(anyLog, policy, fc.boolean(), (log, replayed, fresh) => {
        const currentRun = fresh ? 'a run without messages' : current(log)
        expect(requestFaults(replay(log, { currentRun, replay: replayed }))).toEqual([])
      }),
      RUNS,
    )
  })

  it("omits errors, reasoning of failed completions, members' messages and orphaned results (promises R4)", () => {
    fc.assert(
      fc.property(anyLog, policy, (log, replayed) => {
        expect(JSON.stringify(replay(log, { currentRun: current(log), replay: replayed }))).not.toContain(SECRET)
      }),
      RUNS,
    )
  })

  it('does not change the log, and is deterministic', () => {
    fc.assert(
      fc.property(anyLog, policy, (log, replayed) => {
        const before = structuredClone(log)
        const first = replay(log, { currentRun: current(log), replay: replayed })
        expect(log).toEqual(before)
        expect(JSON.stringify(replay(before, { currentRun: current(log), replay: replayed }))).toBe(
          JSON.stringify(first),
        )
      }),
      RUNS,
    )
  })

  it('sends the arguments of calls exactly as the log stores them', () => {
    fc.assert(
      fc.property(settledLog, (log) => {
        const request = replay(log, { currentRun: current(log), replay: 'full' })
        const sent = request.flatMap((message) =>
          message.role === 'assistant'
            ? message.parts.flatMap((part) => (part.type === 'tool_call' ? [part.arguments] : []))
            : [],
        )
        const stored = log.flatMap((message) =>
          message.role === 'assistant' ? message.toolCalls.map((call) => call.arguments) : [],
        )
        expect(sent).toEqual(stored)
      }),
      RUNS,
    )
  })
})

describe('the request prefix (promises R5)', () => {
  it('stays byte for byte equal while a run grows, under both policies', () => {
    fc.assert(
      fc.property(settledLog, policy, (log, replayed) => {
        const points = requestPoints(log)
        for (const [index, point] of points.entries()) {
          const later = points[index + 1]
          if (later?.currentRun === point.currentRun) expectPrefix(request(point, replayed), request(later, replayed))
        }
      }),
      RUNS,
    )
  })

  it('stays byte for byte equal over the runs of a session, except images that become notes', () => {
    fc.assert(
      fc.property(settledLog, (log) => {
        const points = requestPoints(log.map(withoutMedia))
        for (const [index, point] of points.entries()) {
          const later = points[index + 1]
          if (later !== undefined) expectPrefix(request(point, 'full'), request(later, 'full'))
        }
      }),
      RUNS,
    )
  })
})

const request = ({ log, currentRun }: Point, policy: 'full' | 'conversation'): RequestMessage[] =>
  replay(log, { currentRun, replay: policy })

function expectPrefix(earlier: readonly RequestMessage[], later: readonly RequestMessage[]): void {
  expect(JSON.stringify(later.slice(0, earlier.length))).toBe(JSON.stringify(earlier))
}
