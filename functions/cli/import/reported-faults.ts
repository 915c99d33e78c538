import type { Fault } from '../../log/session-files/transcript.ts'

/** Lines of a file that are reported one by one. */
const MAX_REPORTED = 10
/** Maximum number of different reasons that are counted separately. */
const REASONS = 5

/**
 * Reports the damaged lines of one file. The first ones are reported as `FILE:PLACE: reason`. All others are counted in
 * one line.
 */
export function createFaultReport(path: string, report: (line: string) => void) {
  const counted = new Map<string, number>()
  let [reported, more, last] = [0, 0, 0]
  let lastAt: string | undefined
  return {
    take(faults: readonly Fault[]): void {
      for (const { path: other = path, line, at, reason } of faults) {
        if (reported++ < MAX_REPORTED) {
          report(`${other}:${at ?? line}: ${reason}`)
          continue
        }
        more++
        last = Math.max(last, line)
        lastAt = at ?? lastAt
        const name = counted.has(reason) || counted.size < REASONS ? reason : 'for other reasons'
        counted.set(name, (counted.get(name) ?? 0) + 1)
      }
    },
    end(): void {
      if (more === 0) return
      const reasons = Array.from(counted, ([reason, count]) => `${reason} (${count})`).join(', ')
      report(
        `${path}: ${more} more ${lastAt === undefined ? 'lines' : 'places'} are left out, the last of them ${lastAt ?? last}: ${reasons}`,
      )
    },
  }
}
