import { Violation } from '../../test/contracts/schedules/harness.ts'
import { createDice, hashText } from './scripts/dice.ts'
import type { Dice } from './scripts/dice.ts'
import type { Fault, Script } from './scripts/script.ts'
import { createTimeline } from './world/timeline.ts'
import type { Process, Timeline } from './world/timeline.ts'

/** Calls to the store that are part of a deletion. */
const DELETING = ['deletion.tombstone', 'deletion.removeRows', 'outputs.removeAll']
const START = Date.UTC(2026, 0, 5, 9)

/** Throws a `Violation` of the rule if `holds` is false. */
export function must(rule: string, holds: boolean, detail = ''): void {
  if (!holds) throw new Violation(rule, detail)
}

/** A sudden fault of a process. */
export interface Affliction {
  readonly how: 'kill' | 'stop' | 'restart'
  readonly milliseconds: number
  readonly leavesRequests: boolean
}

/** The state of one simulation: its time, random numbers, remaining faults, and trace. */
export interface Harness {
  readonly script: Script
  readonly timeline: Timeline
  readonly dice: Dice
  /** Milliseconds since the beginning, without the time that `sleep` faults took. */
  elapsed(): number
  /** Writes a line of the trace. Every line changes the digest. `routine` lines are not printed. */
  note(text: string, kind?: 'told' | 'routine'): void
  /** Ends the simulation with this error. If several errors occur, the first one counts. */
  fail(error: unknown): void
  /** Finds the next due fault of this type that matches, and removes the fault, so that it happens once. */
  takeFault<Type extends Fault['type']>(
    type: Type,
    fits?: (fault: Extract<Fault, { type: Type }>) => boolean,
  ): Extract<Fault, { type: Type }> | undefined
  /**
   * Triggers the faults that a process suffers when it sends this call. `call`: a method of a port, `tool` or
   * `receiver`.
   */
  strike(process: Process, call: string, session: string): void
  /** Kills or stops a process. */
  afflict: (process: Process, fault: Affliction) => void
  /** End of the last fault so far, in milliseconds since the beginning. */
  quietSince(): number
  /** Time of the last lost or delayed hint of each session, in milliseconds since the beginning. */
  readonly hintsLost: Map<string, number>
  /**
   * If a fault now blocks deletions of this session, returns the fault's effect on this call. Otherwise returns
   * undefined.
   */
  stuck(call: string, session: string): 'refused' | 'silent' | undefined
  /** Whether an outage makes this call fail now. */
  isDown(call: string): boolean
  readonly failure: () => Violation | undefined
  readonly trace: readonly string[]
  readonly digest: () => number
}

export function createHarness(script: Script, keepTrace: boolean): Harness {
  const timeline = createTimeline(START)
  const trace: string[] = []
  const pending: (Fault | undefined)[] = [...script.faults].toSorted((left, right) => left.at - right.at)
  let digest = 0
  let failure: Violation | undefined
  let quietSince = script.quietAt
  const stuck = script.faults.filter((fault) => fault.type === 'stuck')
  const fatals = script.faults.filter((fault) => fault.type === 'poison')
  const elapsed = (): number => timeline.now() - START - timeline.slept()
  const harness: Harness = {
    script,
    timeline,
    dice: createDice(script.seed),
    elapsed,
    note(text, kind = 'told') {
      const line = `${elapsed().toFixed(1)} ${text}`
      digest = hashText(line, digest)
      if (keepTrace && kind === 'told') trace.push(line)
    },
    fail(error) {
      if (failure !== undefined) return
      const text = error instanceof Error ? `${error.message} ${error.stack?.split('\n')[1] ?? ''}` : String(error)
      failure = error instanceof Violation ? error : new Violation('nothing fails unheard', text)
    },
    takeFault<Type extends Fault['type']>(type: Type, fits?: (fault: Extract<Fault, { type: Type }>) => boolean) {
      const now = elapsed()
      if (now > script.quietAt) return undefined
      const place = pending.findIndex(
        (fault) => fault?.type === type && fault.at <= now && (fits?.(fault as never) ?? true),
      )
      const found = pending[place]
      if (found === undefined) return undefined
      pending[place] = undefined
      return found as Extract<Fault, { type: Type }>
    },
    strike(process, call, session) {
      const fault = harness.takeFault('strike', (one) => call.startsWith(one.call))
      if (fault !== undefined) timeline.after(fault.after, undefined, () => harness.afflict(process, fault))
      const fatal = fatals.find(
        (one) => call.startsWith(one.call) && sessionAt(script, one.session) === session && one.at <= elapsed(),
      )
      if (fatal === undefined) return
      const { milliseconds } = fatal
      quietSince = Math.max(quietSince, elapsed() + milliseconds)
      timeline.after(0, undefined, () => harness.afflict(process, { how: 'kill', milliseconds, leavesRequests: true }))
    },
    afflict: () => undefined,
    quietSince: () => quietSince,
    hintsLost: new Map(),
    stuck(call, session) {
      if (elapsed() > script.quietAt || !DELETING.some((one) => call.startsWith(one))) return undefined
      const left = script.sessions.find((one) => one.session === session)?.left
      return stuck.find((fault) => fault.left === left)?.how
    },
    isDown(call) {
      const now = elapsed()
      return script.faults.some(
        (fault) =>
          fault.type === 'outage' &&
          fault.at <= now &&
          now < fault.at + fault.milliseconds &&
          now < script.quietAt &&
          call.startsWith(fault.call),
      )
    },
    failure: () => failure,
    trace,
    digest: () => digest,
  }
  return harness
}

/** Whether faults may occur at this time. */
export const isDisturbed = ({ script, elapsed }: Harness): boolean =>
  script.faults.length > 0 && elapsed() < script.quietAt

/** Returns the name of the session that an operation or a fault refers to. */
const sessionAt = ({ sessions }: Script, number: number): string => sessions[number % sessions.length]?.session ?? ''

/** Whether the session has a `poison` fault, which kills each process that sends a certain request. */
export const isFatal = ({ script }: Harness, session: string): boolean =>
  script.faults.some((fault) => fault.type === 'poison' && sessionAt(script, fault.session) === session)
