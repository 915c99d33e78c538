import { writeToTerminal } from '../terminal-output.ts'
/**
 * Signals within this time count as one. A terminal sends Ctrl-C to this process, and npm forwards it to the process
 * once more.
 */
const ONE_PRESS_MS = 500

/**
 * Calls `close` at the first SIGINT, SIGTERM or SIGHUP, and exits once it has resolved. SIGHUP means that the terminal
 * was closed. The next SIGINT or SIGTERM exits at once with code 1. A repeated SIGHUP changes nothing, since no person
 * is waiting.
 */
export function stopOnSignals(close: () => Promise<void>): void {
  let stoppedAt: number | undefined
  const stop = (signal: NodeJS.Signals): void => {
    if (stoppedAt === undefined) {
      stoppedAt = performance.now()
      writeToTerminal('stdout', `${signal}: finishing or handing off runs; send it again to stop at once\n`)
      void close().then(() => process.exit(0))
    } else if (signal !== 'SIGHUP' && performance.now() - stoppedAt > ONE_PRESS_MS) process.exit(1)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)
}

/** Exit codes of a command that a signal ended. Shells use these numbers. */
const EXIT_CODES = { SIGTERM: 143, SIGHUP: 129 } as const

/**
 * Calls `close` at the first SIGTERM or SIGHUP, and ends the command once it has resolved. Returns a function that
 * removes the listeners.
 */
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
