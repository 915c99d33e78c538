import { bar } from '../terminal.ts'
import type { FoundFile } from './find-files.ts'

interface Terminal {
  readonly progress: ((line: string) => void) | undefined
  now(): number
}

/** Interval between two progress lines. */
const STEP_MS = 200

/** Shows the progress of an import: the finished part, the speed, and the remaining time at that speed. */
export function createProgress(terminal: Terminal, files: readonly FoundFile[]) {
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  const begun = terminal.now()
  let [done, bytes, reportedAt] = [0, 0, 0]
  const report = (messages: number): void => {
    const now = terminal.now()
    if (terminal.progress === undefined || now - reportedAt < STEP_MS) return
    reportedAt = now
    const rate = bytes / Math.max(1, now - begun)
    const left = Math.ceil((total - bytes) / Math.max(rate, 1e-9) / 1_000)
    // The remaining time is unknown until the first file is finished.
    const speed = bytes === 0 ? '' : `, ${(rate / 1_000).toFixed(1)} MB/s, ${timeText(left)} left`
    terminal.progress(
      `${bar(total === 0 ? 1 : bytes / total)} ${done} of ${files.length} files, ${messages} messages${speed}`,
    )
  }
  return {
    /** Called before each file, and within a file with many conversations. */
    report,
    done(file: FoundFile, messages: number): void {
      done++
      bytes += file.bytes
      report(messages)
    },
    end(): void {
      terminal.progress?.('')
    },
  }
}

const timeText = (seconds: number): string =>
  seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
