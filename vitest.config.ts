import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Suites that leave nothing behind in their process: they share one, for loading the program anew would take longer than they do. */
const SHARING = [
  'test/{access,adapters,agent,channels,client,delivery,deployed,domain,history,http,lib,log,mcp,page,ports,search,tools}/**/*.test.ts',
]
/** Its seeds decide everything but when a module is loaded: Node itself does that at once, where Vitest asks another process. */
const SIMULATOR = 'audit/simulator/*.test.ts'
/** Tests of times. They hold on a machine that does nothing else, so they run after all others, one by one. */
const TIMES = 'test/**/*.times.test.ts'
const ENGINES = '{test,audit}/**/*.engine.test.ts'
const CRASHES = 'test/**/*.crash.test.ts'
const BROWSER = 'test/**/*.browser.test.ts'
const KNOWN_FAILURES = 'test/known-failures/*.test.ts'
const NAMED_RUN = [ENGINES, CRASHES, BROWSER, KNOWN_FAILURES]

/** An `exclude` of a project would make Vitest ignore `--exclude`. */
const without = (patterns: readonly string[]): string[] => patterns.map((pattern) => `!${pattern}`)

/** `npm test`, and every command that names no project. */
const USUAL = [
  { name: 'alone', include: ['test/**/*.test.ts', ...without([...NAMED_RUN, ...SHARING, TIMES])] },
  {
    name: 'times',
    include: [TIMES, ...without(NAMED_RUN)],
    maxWorkers: 1,
    sequence: { groupOrder: 1 },
  },
  { name: 'simulator', include: [SIMULATOR, ...without(NAMED_RUN)], experimental: { viteModuleRunner: false } },
  {
    name: 'sharing',
    include: [...SHARING, ...without([...NAMED_RUN, TIMES])],
    isolate: false,
    testTimeout: 600_000,
  },
]

/** They need engines, Chromium or minutes: only `--project=<name>` runs them, and only then are engines started. */
const NAMED = [
  {
    name: 'engines',
    include: [ENGINES, ...without([KNOWN_FAILURES])],
    globalSetup: ['test/engines/global-setup.ts'],
  },
  { name: 'crashes', include: [CRASHES], maxConcurrency: 2 },
  {
    name: 'browser',
    include: [BROWSER],
    globalSetup: ['test/browser/require-chromium.ts'],
    maxWorkers: 1,
    sequence: { groupOrder: 2 },
  },
  /** Promises that do not hold yet (`test/known-failures/README.md`): `npm run assurance` runs them, CI does not. */
  {
    name: 'known-failures',
    include: [KNOWN_FAILURES],
    globalSetup: ['test/engines/global-setup.ts'],
  },
]

/** `--project=!times` names none: it leaves one of the usual out. */
const isOneNamed = process.argv.some((argument, index) => {
  const [option, name = process.argv[index + 1]] = argument.split('=')
  return option === '--project' && name?.startsWith('!') === false
})

/**
 * Suites that take longest, the longest first: one that begins last would run alone at the end. Vitest itself, where it has not
 * seen a file before, takes the size of its text for how long it takes.
 */
const SLOWEST_FILES = [
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
  const place = SLOWEST_FILES.findIndex((part) => moduleId.includes(part))
  return place === -1 ? SLOWEST_FILES.length : place
}

export default defineConfig({
  test: {
    /** Only what hangs is to fail by these: no test says by its limit how fast something is, and CI machines have other work. */
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 180_000 } },
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    /** Suites start the program hundreds of times: compiled once, it starts in half the time. */
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules', '.cache', 'compiled') },
    projects: (isOneNamed ? [...USUAL, ...NAMED] : USUAL).map((test) => ({ extends: true, test })),
  },
})
