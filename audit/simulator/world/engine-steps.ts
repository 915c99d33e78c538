import { AsyncLocalStorage } from 'node:async_hooks'
import type { RequestKind } from '../../../test/contracts/stores.ts'
import { latency, settle } from './network.ts'
import type { Outcome } from './network.ts'
import type { Fault } from '../scripts/script.ts'
import type { Sessions } from '../actors/sessions.ts'
import { current } from './timeline.ts'
import type { Process } from './timeline.ts'
import type { Harness } from '../harness.ts'

/** One call of a port whose adapter sends requests to an engine. */
export interface EngineCall {
  readonly process: Process
  readonly name: string
  readonly session: string
  /** Called when a write has landed, before any other step. */
  readonly written: () => Promise<void>
}

/**
 * Turns each request that a call sends to an engine into a step. The seed decides when the request lands, and when its
 * response arrives.
 */
export interface EngineSteps {
  /** Executes the work of a call as a part of the calling process. The work ends when the process ends. */
  during(call: EngineCall, work: () => unknown): unknown
}

type Send = <T>(kind: RequestKind, request: () => Promise<T>) => Promise<T>
const inFlight = new AsyncLocalStorage<Send>()

/**
 * Sends a request to an engine. Within a call, the request is a step. If the sender is outside the simulation, the
 * request is sent at once.
 */
export const sendInStep: Send = (kind, request) => (inFlight.getStore() ?? ((_, send) => send()))(kind, request)

/** A delayed write, which lands between the reads and the writes of another call. */
interface Held {
  readonly call: EngineCall
  readonly into: string
  readonly land: () => Promise<void>
}

export function createEngineSteps(harness: Harness, { all }: Sessions): EngineSteps {
  const { timeline } = harness
  /**
   * Whether a `between` fault can apply to a call. If `into` is set, the session must have an active run, because
   * `into` names calls that belong to runs.
   */
  const fits = ({ name, session }: EngineCall, fault: Extract<Fault, { type: 'between' }>): boolean =>
    name.startsWith(fault.call) &&
    (fault.into === '' || all.some(({ key, seen }) => key.session === session && seen.header?.activeRun !== undefined))
  let held: readonly Held[] = []

  /** Executes the delayed writes that must land between the reads and the writes of this call. */
  async function landHeld(call: EngineCall): Promise<void> {
    const due = held.filter(
      (one) => one.call !== call && one.call.session === call.session && call.name.startsWith(one.into),
    )
    held = held.filter((one) => !due.includes(one))
    for (const one of due) {
      harness.note(
        `${one.call.process.name} ${one.call.name} lands in ${call.process.name} ${call.name} ${call.session}`,
      )
      await one.land()
    }
  }

  function hold(one: Held, milliseconds: number): void {
    held = [...held, one]
    timeline.after(milliseconds, undefined, async () => {
      if (!held.includes(one)) return
      held = held.filter((other) => other !== one)
      await one.land()
    })
  }

  return {
    during(call, work) {
      const { process, name, session } = call
      let hasRead = false
      let isHeld = false
      const send: Send = (kind, request) =>
        new Promise((resolve, reject) => {
          const respond = (outcome: Outcome): void => {
            timeline.after(latency(harness, process), process, () =>
              'error' in outcome ? reject(outcome.error as Error) : resolve(outcome.value as never),
            )
          }
          const land = async (): Promise<void> => {
            if (process.state === 'dead' && !process.leavesRequests) return
            const outcome = await settle(request)
            if (kind === 'write') harness.note(`${process.name} ${name} ${session} writes`, 'routine')
            if (kind === 'write' && 'value' in outcome) await call.written()
            respond(outcome)
          }
          timeline.after(latency(harness, process), undefined, async () => {
            if (kind === 'read') {
              hasRead = true
              return land()
            }
            const fault = isHeld ? undefined : harness.takeFault('between', (one) => fits(call, one))
            if (fault === undefined) {
              if (hasRead) await landHeld(call)
              return land()
            }
            isHeld = true
            harness.note(`${process.name} ${name} ${session} will land between (${fault.how}, ${fault.into})`)
            if (fault.how === 'disowned') respond({ error: refusedForGood() })
            hold({ call, into: fault.into, land }, fault.milliseconds)
          })
        })
      return current.run(process, () => inFlight.run(send, work))
    },
  }
}

/** Returns the error that a client gets if it has lost the response and cannot retry. */
function refusedForGood(): Error {
  const error = new Error('the response was lost, and credentials for the next attempt cannot be had')
  error.name = 'CredentialsProviderError'
  return error
}
