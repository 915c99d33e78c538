import { defineConfig } from 'vitest/config'
import { findChromium } from './test/browser/chromium.ts'
import { shared } from './vitest.shared.config.ts'

if (findChromium() === undefined) {
  process.stderr.write('This needs Chromium, and there is none: install it (on Debian: apt-get install chromium).\n')
  process.exit(1)
}

/** The page in a real browser; `npm test` does not need one. */
export default defineConfig({
  test: { ...shared, include: ['test/**/*.browser.test.ts'], maxWorkers: 1 },
})
