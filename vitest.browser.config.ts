import { defineConfig } from 'vitest/config'
import { shared } from './vitest.shared.config.ts'

/** The page in a real browser; `npm test` does not need one. */
export default defineConfig({
  test: {
    ...shared,
    include: ['test/**/*.browser.test.ts'],
    globalSetup: ['test/browser/require-chromium.ts'],
    maxWorkers: 1,
  },
})
