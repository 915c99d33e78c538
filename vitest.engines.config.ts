import { defineConfig } from 'vitest/config'

/** The suites that need real engines; `npm test` does not run them. */
export default defineConfig({
  test: {
    include: ['test/**/*.engine.test.ts'],
    globalSetup: ['test/engines/global-setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
})
