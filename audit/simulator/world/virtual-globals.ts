import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import timersPromises from 'node:timers/promises'
import { nextId } from '../../../functions/domain/ids.ts'
import type { Dice } from '../scripts/dice.ts'
import { current } from './timeline.ts'
import type { Process, Timeline } from './timeline.ts'

/** The current simulation. Its processes get their time and random numbers from it. */
let harness: { readonly timeline: Timeline; readonly dice: Dice } | undefined

/**
 * Replaces timers, clocks and `crypto`. Code in a simulated process then gets the simulation's time and random numbers.
 * Other code gets the real ones. Only functions that functions/agent and its packages use are replaced.
 */
export function enterHarness(next: typeof harness): void {
  if (harness === undefined) replaceGlobals()
  harness = next
  // Ids use a pool of random bytes, and the previous simulation has used a part of it. Draws until the pool is
  // refilled.
  const before = drawn
  while (harness !== undefined && drawn === before) nextId(undefined, 0)
}

export const processNow = (process: Process): number => Math.floor((harness?.timeline.now() ?? 0) + process.skew)

/** Calls `run` after `milliseconds` of virtual time, unless the process has died by then. */
export function later(process: Process, milliseconds: number, run: () => void): { cancel(): void } {
  if (harness === undefined) throw new Error('no simulation runs')
  const happening = harness.timeline.after(Math.max(0, milliseconds), process, run)
  return { cancel: () => void (happening.cancelled = true) }
}

/** Resolves after `milliseconds` of virtual time. Rejects with the signal's reason as soon as the signal aborts. */
export function pause(process: Process, milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const timer = later(process, milliseconds, () => {
      signal?.removeEventListener('abort', stop)
      resolve()
    })
    const stop = (): void => {
      timer.cancel()
      reject(signal?.reason as Error)
    }
    signal?.addEventListener('abort', stop, { once: true })
  })
}

let drawn = 0

/** Replaces Node's timer object. */
class VirtualTimer {
  readonly #process: Process
  readonly #milliseconds: number
  readonly #run: () => void
  #timer: { cancel(): void }
  constructor(process: Process, milliseconds: number, run: () => void) {
    this.#process = process
    this.#milliseconds = milliseconds
    this.#run = run
    this.#timer = later(process, milliseconds, run)
  }
  refresh(): this {
    this.#timer.cancel()
    this.#timer = later(this.#process, this.#milliseconds, this.#run)
    return this
  }
  cancel(): void {
    this.#timer.cancel()
  }
  unref(): this {
    return this
  }
}

function replaceGlobals(): void {
  const real = { setTimeout, clearTimeout, now: Date.now, random: Math.random, timeout: AbortSignal.timeout }
  const elapsed = performance.now.bind(performance)
  const bytes = crypto.webcrypto.getRandomValues.bind(crypto.webcrypto)
  const uuid = crypto.randomUUID
  const promised = { setTimeout: timersPromises.setTimeout, setImmediate: timersPromises.setImmediate }

  replace(globalThis, 'setTimeout', (run: (...args: unknown[]) => void, milliseconds = 0, ...args: unknown[]) => {
    const process = current.getStore()
    if (process === undefined) return real.setTimeout(run, milliseconds, ...args)
    return new VirtualTimer(process, milliseconds, () => run(...args))
  })
  replace(globalThis, 'clearTimeout', (timer: unknown) => {
    if (timer instanceof VirtualTimer) timer.cancel()
    else real.clearTimeout(timer as NodeJS.Timeout)
  })
  replace(Date, 'now', () => {
    const process = current.getStore()
    return process === undefined ? real.now() : processNow(process)
  })
  // A real duration would differ between two runs of one seed. In the simulation, measured work takes no time.
  replace(performance, 'now', () => {
    const process = current.getStore()
    return process === undefined ? elapsed() : processNow(process)
  })
  replace(Math, 'random', () =>
    current.getStore() === undefined ? real.random() : (harness?.dice.next('random') ?? 0),
  )
  replace(AbortSignal, 'timeout', (milliseconds: number) => {
    const process = current.getStore()
    if (process === undefined) return real.timeout(milliseconds)
    const over = new AbortController()
    later(process, milliseconds, () => over.abort(new DOMException('the time is over', 'TimeoutError')))
    return over.signal
  })
  replace(crypto, 'randomUUID', () => (current.getStore() === undefined ? uuid() : virtualUuid()))
  replace(globalThis.crypto, 'randomUUID', () => (current.getStore() === undefined ? uuid() : virtualUuid()))
  replace(globalThis.crypto, 'getRandomValues', (array: Uint8Array<ArrayBuffer>) => {
    drawn++
    if (harness === undefined) return bytes(array)
    for (let at = 0; at < array.length; at++) array[at] = harness.dice.below('bytes', 256)
    return array
  })
  replace(timersPromises, 'setTimeout', (milliseconds: number, value: unknown, options?: { signal?: AbortSignal }) => {
    const process = current.getStore()
    if (process === undefined) return promised.setTimeout(milliseconds, value, options)
    return pause(process, milliseconds, options?.signal).then(() => value)
  })
  replace(timersPromises, 'setImmediate', (value: unknown) => {
    const process = current.getStore()
    return process === undefined ? promised.setImmediate(value) : pause(process, 0).then(() => value)
  })
  syncBuiltinESMExports()
}

function replace(owner: object, name: string, value: (...args: never[]) => unknown): void {
  Object.defineProperty(owner, name, { value, configurable: true, writable: true })
}

function virtualUuid(): string {
  return `uuid-${(harness?.dice.next('uuid') ?? 0).toString(16).slice(2)}`
}
