import { TooltrailError } from '../../../functions/domain/errors.ts'
import { pause } from './virtual-globals.ts'
import type { Process } from './timeline.ts'
import type { Harness } from '../harness.ts'

export type Outcome = { readonly value: unknown } | { readonly error: unknown }

/** Called after each request, before any other step. */
export type Observer = (
  sender: Process,
  call: string,
  args: readonly unknown[],
  outcome: Outcome,
) => void | Promise<void>

/**
 * Wraps a port for one process. Each call becomes a request that takes time, and may be late, fail or get no response.
 * A request in flight arrives even if its sender dies, unless the sender's `leavesRequests` is false.
 */
export function throughNetwork<Port extends object>(
  harness: Harness,
  process: Process,
  name: string,
  port: Port,
  observe: Observer,
  steps?: StepsOf,
): Port {
  const methods = Object.entries(port).map(([method, work]: [string, (...args: unknown[]) => unknown]) => {
    const call = `${name}.${method}`
    return [
      method,
      (...args: unknown[]) => request(harness, process, call, () => work(...args), { args, observe, steps }),
    ]
  })
  return Object.fromEntries(methods) as Port
}

/**
 * Divides the work of a call into steps. Used for a store whose client runs in the process and sends several requests
 * per call.
 */
export type StepsOf = (call: string, args: readonly unknown[], work: () => unknown) => () => unknown

interface Request {
  readonly args: readonly unknown[]
  readonly observe: Observer
  readonly steps: StepsOf | undefined
}

/** Sends one request over the network. */
async function request(
  harness: Harness,
  process: Process,
  call: string,
  work: () => unknown,
  { args, observe, steps }: Request,
): Promise<unknown> {
  const stuck = harness.stuck(call, sessionIn(args))
  const fault =
    stuck === undefined
      ? harness.takeFault('request', (one) => call.startsWith(one.call))
      : { how: stuck === 'silent' ? ('lost' as const) : stuck, milliseconds: 0 }
  const [there, back] = [latency(harness, process), latency(harness, process)]
  const about = `${process.name} ${call} ${sessionIn(args)}`
  if (fault?.how === 'refused' || harness.isDown(call)) {
    harness.note(`${about} fails`)
    await pause(process, there + back)
    throw new TooltrailError('storage_failed', 'the store could not be reached', { retryable: true })
  }
  if (fault !== undefined) harness.note(`${about} will be ${fault.how} (${fault.milliseconds} ms)`)
  if (fault?.how === 'lost') return new Promise(() => undefined)
  return new Promise((resolve, reject) => {
    const arrive = async (): Promise<void> => {
      if (process.state === 'dead' && !process.leavesRequests) return
      const outcome = await settle(steps === undefined ? work : steps(call, args, work))
      const line = `${about}${process.state === 'running' ? '' : ` (its sender is ${process.state})`}${refusal(outcome)}`
      harness.note(line, isRoutine(call, outcome) ? 'routine' : 'told')
      await harness.timeline.hold(observed(harness, () => observe(process, call, args, outcome)))
      harness.strike(process, call, sessionIn(args))
      if (fault?.how === 'silent') return
      const wait = back + (fault?.how === 'slow' ? fault.milliseconds : 0)
      harness.timeline.after(wait, process, () => {
        if (fault?.how === 'unknown')
          reject(new TooltrailError('storage_failed', 'the store sent no response', { retryable: true }))
        else if ('error' in outcome) reject(outcome.error as Error)
        else resolve(outcome.value)
      })
    }
    const late = fault?.how === 'late' ? fault.milliseconds : 0
    // Work with several steps must not be awaited here, because this step would then wait for later steps.
    harness.timeline.after(there + late, undefined, steps === undefined ? arrive : () => void arrive())
  })
}

/** Inspects the effects of a request. If a promise is violated, the simulation ends. */
export async function observed(harness: Harness, inspect: () => void | Promise<void>): Promise<void> {
  try {
    await inspect()
  } catch (error) {
    harness.fail(error)
  }
}

/** Runs `work` and returns its value or its error. */
export async function settle(work: () => unknown): Promise<Outcome> {
  try {
    return { value: await work() }
  } catch (error) {
    return { error }
  }
}

/** Draws a latency. It is usually a few milliseconds, and sometimes much more. */
export function latency({ dice }: Harness, process: Process): number {
  const name = `latency ${process.name}`
  const base = 0.5 + 8 * dice.next(name)
  return dice.chance(name, 0.02) ? base * 40 : base
}

/** Returns the name of the session that a request is for. Empty if the request names no session. */
export function sessionIn([first]: readonly unknown[]): string {
  if (typeof first !== 'object' || first === null) return ''
  if ('session' in first) return String(first.session)
  return 'key' in first ? sessionIn([first.key]) : ''
}

function refusal(outcome: Outcome): string {
  if ('value' in outcome) return ''
  return `: ${outcome.error instanceof Error ? outcome.error.message : String(outcome.error)}`
}

/** Whether the call is routine: frequent, and without changes. */
function isRoutine(call: string, outcome: Outcome): boolean {
  if (!('value' in outcome)) return false
  if (
    call === 'lease.readHeader' ||
    call === 'lease.readHeaderEventually' ||
    call === 'lease.heartbeat' ||
    call.startsWith('reader.')
  )
    return true
  return /^(janitor|outbox)\./.test(call) && Array.isArray(outcome.value) && outcome.value.length === 0
}
