import { defineConfig } from 'vitest/config'
import { shared } from './vitest.shared.config.ts'

/** Suites that leave nothing behind in their process: they share one, for loading the program anew would take longer than they do. */
const SHARING = [
  'test/{access,adapters,agent,channels,client,delivery,deployed,domain,history,http,lib,log,mcp,page,ports,search,tools}/**/*.test.ts',
]
/** Its seeds decide everything but when a module is loaded: Node itself does that at once, where Vitest asks another process. */
const SIMULATOR = 'audit/simulator/*.test.ts'
/** What is promised by the clock: it holds on a machine that does nothing else, so these run behind all others, one by one. */
const TIMES = 'test/**/*.times.test.ts'
const OTHERS_RUN = [
  '{test,audit}/**/*.engine.test.ts',
  'test/**/*.crash.test.ts',
  'test/**/*.browser.test.ts',
  'test/known-failures/**',
]

export default defineConfig({
  test: {
    ...shared,
    projects: [
      {
        extends: true,
        test: { name: 'alone', include: ['test/**/*.test.ts'], exclude: [...OTHERS_RUN, ...SHARING, SIMULATOR, TIMES] },
      },
      {
        extends: true,
        test: {
          name: 'times',
          include: [TIMES],
          exclude: OTHERS_RUN,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'simulator',
          include: [SIMULATOR],
          exclude: OTHERS_RUN,
          experimental: { viteModuleRunner: false },
        },
      },
      {
        extends: true,
        test: {
          name: 'sharing',
          include: SHARING,
          exclude: [...OTHERS_RUN, TIMES],
          isolate: false,
          testTimeout: 300_000,
        },
      },
    ],
  },
})
