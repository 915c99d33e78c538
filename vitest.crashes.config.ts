import { defineConfig } from 'vitest/config'

/** The crash suites that take minutes; `npm test` runs a shorter one. */
export default defineConfig({
  test: {
    include: ['test/**/*.crash.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    maxConcurrency: 2,
  },
})
