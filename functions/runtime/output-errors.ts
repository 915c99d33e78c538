import { writeToTerminal } from './terminal-output.ts'
/**
 * Keeps the process alive when the reader of its output has closed the pipe or the terminal. Without a listener, the
 * next write would end the process.
 */
export function ignoreOutputErrors(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
}

let isWatched = false

/**
 * Handles output errors of a command, whose output is its result. A reader such as `head` may close early, which is no
 * error. Any other failed write, such as to a full disk, is reported on standard error, and the exit code is 1.
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
