/** npm passes on the Ctrl-C that a terminal has sent to this process itself: signals as close together as this are one. */
const ONE_PRESS_MS = 500

/** Ends the process once `close` has resolved after the first SIGINT or SIGTERM, and at once, with exit code 1, after the next. */
export function stopOnSignals(close: () => Promise<void>): void {
  let toldAt: number | undefined
  const stop = (signal: string): void => {
    if (toldAt === undefined) {
      toldAt = performance.now()
      process.stdout.write(`${signal}: finishing or handing over what runs; again to stop at once\n`)
      void close().then(() => process.exit(0))
    } else if (performance.now() - toldAt > ONE_PRESS_MS) process.exit(1)
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
}
