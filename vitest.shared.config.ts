import { join } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Suites that take longest, the longest first: one that begins last would run alone at the end. Vitest itself, where it has not
 * seen a file before, takes the size of its text for how long it takes.
 */
const LONGEST = [
  '/dynamodb/contracts.engine.',
  '/e2e/crashes/',
  '/engines/transcripts.',
  '/lambda/indexer-memory.',
  '/engines/round-trips.',
  '/engines/new-processes.',
  '/history/rebuild.',
  '/races/racing-processes.',
  '/races/races.',
  '/runtime/operations.',
  '/races/faults.',
  '/s3/faults.',
  '/races/schedules.',
  '/engines/races.',
  '/engines/running-program.',
  '/runtime/command.',
  '/lib/bundle.',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted((left, right) => placeOf(left) - placeOf(right))
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = LONGEST.findIndex((part) => moduleId.includes(part))
  return place === -1 ? LONGEST.length : place
}

/** What holds for all suites. */
export const shared = {
  /** Only what hangs is to fail by these: no test says by its limit how fast something is, and CI machines have other work. */
  testTimeout: 600_000,
  hookTimeout: 600_000,
  expect: { poll: { timeout: 180_000 } },
  maxWorkers: 2,
  sequence: { sequencer: LongestFirst },
  /** Suites start the program hundreds of times: compiled once, it starts in half the time. */
  env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules', '.cache', 'compiled') },
}
