import { TooltrailError } from '../domain/errors.ts'
import { TimedOut, withinTime } from '../domain/time/time-limit.ts'

/** Timeout of one operation of a store or the queue, including its adapter's retries. */
const OPERATION_MS = 30_000
const LIMITED = [
  ...['sessions', 'inbox', 'lease', 'log', 'imports', 'reader', 'janitor', 'deletion', 'outputs', 'queue'],
  ...['outbox', 'feedback', 'received', 'names'],
]

/**
 * Wraps ports so that each operation has a timeout. A timed-out operation rejects with `storage_failed`, and its outcome is
 * unknown. Used by callers without a lease: the operations of a holder end with its lease.
 */
export function inTime<Ports extends object>(ports: Ports): Ports {
  const entries = Object.entries(ports).map(([name, port]: [string, unknown]) => {
    const isLimited = LIMITED.includes(name) && typeof port === 'object' && port !== null
    return [name, isLimited ? limit(port) : port]
  })
  return Object.fromEntries(entries) as Ports
}

function limit<Port extends object>(port: Port): Port {
  return new Proxy(port, {
    get(target, name): unknown {
      const method: unknown = Reflect.get(target, name)
      if (typeof method !== 'function') return method
      return (...args: unknown[]): unknown => {
        const result: unknown = Reflect.apply(method, target, args)
        return result instanceof Promise ? limited(String(name), result) : result
      }
    },
  })
}

async function limited(name: string, result: Promise<unknown>): Promise<unknown> {
  try {
    return await withinTime(OPERATION_MS, `the store's ${name}`, () => result)
  } catch (error) {
    if (!(error instanceof TimedOut)) throw error
    throw new TooltrailError('storage_failed', error.message, { retryable: true, cause: error })
  }
}
