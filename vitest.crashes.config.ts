import { defineConfig } from 'vitest/config'
import { shared } from './vitest.shared.config.ts'

/** The crash suites that take minutes; `npm test` runs a shorter one. */
export default defineConfig({
  test: {
    ...shared,
    include: ['test/**/*.crash.test.ts'],
    maxConcurrency: 2,
  },
})
