import { writeToTerminal } from './terminal-output.ts'
/**
 * Keeps the process alive when its output has no reader any more: without a listener, the first write to a closed pipe or terminal
 * ends it.
 */
export function ignoreOutputErrors(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
}

let isWatched = false

/**
 * The same for a command, whose output is its result. A reader may leave early, such as `head`. Any other failure to write, such as
 * a full disk, is reported on standard error, and the exit code is 1.
 */
export function reportLostOutput(): void {
  if (isWatched) return
  isWatched = true
  let isReported = false
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE' || isReported) return
    isReported = true
    writeToTerminal('stderr', `Standard output cannot be written to: ${error.message.replaceAll(/\s+/gu, ' ')}\n`)
    process.exitCode = 1
  })
  process.stderr.on('error', () => undefined)
}
