import type { Fault } from '../../log/session-files/transcript.ts'

/** Lines of a file that are told one by one. */
const TOLD = 10
/** Different reasons that are counted by themselves. */
const REASONS = 5

/** The damaged lines of one file: the first ones each as `FILE:PLACE: reason`, all others in one line that counts them. */
export function createToldFaults(path: string, tell: (line: string) => void) {
  const counted = new Map<string, number>()
  let [told, more, last] = [0, 0, 0]
  let lastAt: string | undefined
  return {
    take(faults: readonly Fault[]): void {
      for (const { path: other = path, line, at, reason } of faults) {
        if (told++ < TOLD) {
          tell(`${other}:${at ?? line}: ${reason}`)
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
      tell(
        `${path}: ${more} more ${lastAt === undefined ? 'lines' : 'places'} are left out, the last of them ${lastAt ?? last}: ${reasons}`,
      )
    },
  }
}
