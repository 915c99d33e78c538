import { defineConfig } from 'vitest/config'
import { shared } from './vitest.shared.config.ts'

/** The suites that need real engines; `npm test` does not run them. */
export default defineConfig({
  test: {
    ...shared,
    include: ['{test,audit}/**/*.engine.test.ts'],
    exclude: ['test/known-failures/**'],
    globalSetup: ['test/engines/global-setup.ts'],
  },
})
