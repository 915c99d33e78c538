import { writeToTerminal } from '../terminal-output.ts'
/** A terminal sends Ctrl-C to this process, and npm passes it on: signals this close together are one. */
const ONE_PRESS_MS = 500

/**
 * After the first SIGINT, SIGTERM or SIGHUP (its terminal was closed), ends the process once `close` has resolved. After the next
 * SIGINT or SIGTERM, ends it at once with exit code 1; a repeated SIGHUP changes nothing, since nobody is waiting.
 */
export function stopOnSignals(close: () => Promise<void>): void {
  let stoppedAt: number | undefined
  const stop = (signal: NodeJS.Signals): void => {
    if (stoppedAt === undefined) {
      stoppedAt = performance.now()
      writeToTerminal('stdout', `${signal}: finishing or handing over runs; send it again to stop at once\n`)
      void close().then(() => process.exit(0))
    } else if (signal !== 'SIGHUP' && performance.now() - stoppedAt > ONE_PRESS_MS) process.exit(1)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)
}

/** Exit codes of a command that a signal ended, as shells number them. */
const EXIT_CODES = { SIGTERM: 143, SIGHUP: 129 } as const

/** After the first SIGTERM or SIGHUP, ends a command once `close` has resolved. Returns a function that removes the listeners. */
export function closeOnSignals(close: () => Promise<void>): () => void {
  let isClosing = false
  const stop = (signal: NodeJS.Signals): void => {
    if (isClosing) return
    isClosing = true
    void close().finally(() => process.exit(EXIT_CODES[signal as keyof typeof EXIT_CODES]))
  }
  const signals = ['SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, stop)
  return () => signals.forEach((signal) => process.off(signal, stop))
}
