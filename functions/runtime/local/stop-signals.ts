/** A terminal sends Ctrl-C to this process, and npm passes it on: signals this close together are one. */
const ONE_PRESS_MS = 500

/**
 * After the first SIGINT or SIGTERM, ends the process once `close` has resolved; after the next, ends it at once with
 * exit code 1.
 */
export function stopOnSignals(close: () => Promise<void>): void {
  let toldAt: number | undefined
  const stop = (signal: string): void => {
    if (toldAt === undefined) {
      toldAt = performance.now()
      process.stdout.write(`${signal}: finishing or handing over runs; send it again to stop at once\n`)
      void close().then(() => process.exit(0))
    } else if (performance.now() - toldAt > ONE_PRESS_MS) process.exit(1)
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
}
