import { defineConfig } from 'vitest/config'
import { shared } from './vitest.shared.config.ts'

export default defineConfig({
  test: {
    ...shared,
    include: ['test/**/*.test.ts'],
    exclude: ['test/**/*.engine.test.ts', 'test/**/*.crash.test.ts'],
    testTimeout: 20_000,
  },
})
