import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Suites without side effects on their process. They share one process, because loading the program again would take longer than
 * the suites.
 */
const SHARING = [
  'test/{access,adapters,agent,channels,client,delivery,deployed,domain,history,http,lib,log,mcp,page,ports,search,tools}/**/*.test.ts',
]
/**
 * Tests whose seeds must determine everything. Node loads their modules, because Vitest would load the modules from another
 * process, at times that no seed determines.
 */
const SIMULATOR = 'audit/simulator/*.test.ts'
/** Tests of durations. They need an idle machine, so they run after all others, one at a time. */
const TIMES = 'test/**/*.times.test.ts'
const ENGINES = '{test,audit}/**/*.engine.test.ts'
const CRASHES = 'test/**/*.crash.test.ts'
const BROWSER = 'test/**/*.browser.test.ts'
const KNOWN_FAILURES = 'test/known-failures/*.test.ts'
const NAMED_RUN = [ENGINES, CRASHES, BROWSER, KNOWN_FAILURES]

/** Turns patterns into negated patterns. With an `exclude` in a project, Vitest would ignore `--exclude`. */
const without = (patterns: readonly string[]): string[] => patterns.map((pattern) => `!${pattern}`)

/** Projects of `npm test`, and of every command that names no project. */
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
  },
]

/** Projects that need engines, Chromium or minutes. They run, and engines start, only with `--project=<name>`. */
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
  /** Tests of promises that are not kept yet (`test/known-failures/README.md`). `npm run assurance` runs them, CI does not. */
  {
    name: 'known-failures',
    include: [KNOWN_FAILURES],
    globalSetup: ['test/engines/global-setup.ts'],
  },
]

/** Whether the command selects a project by name. `--project=!times` does not count, because it only excludes a project. */
const isOneNamed = process.argv.some((argument, index) => {
  const [option, name = process.argv[index + 1]] = argument.split('=')
  return option === '--project' && name?.startsWith('!') === false
})

/**
 * The slowest suites, the slowest first, so that none of them runs alone at the end. Without a record of earlier runs, Vitest
 * estimates a file's duration from its size.
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
  '/lib/bundling/',
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
    /** Time limits only for tests that hang. They do not check speed, because CI machines have other work. */
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 180_000 } },
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    /** Suites start the program hundreds of times. With a compile cache, it starts in half the time. */
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules', '.cache', 'compiled') },
    projects: (isOneNamed ? [...USUAL, ...NAMED] : USUAL).map((test) => ({ extends: true, test })),
  },
})
