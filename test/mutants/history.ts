import { inFile } from './mutant.ts'

/** Keeping the history index in step with the log, and what a function does with its invocations. */
export const HISTORY_MUTANTS = [
  ...inFile('functions/history/index-messages.ts', [
    [
      'no second look for a tombstone',
      'const late = removals.filter(({ write }) => after.get(sessionOf(write.key)) === undefined)',
      'const late = removals.filter(() => after === undefined)',
    ],
    [
      'deleted sessions are indexed',
      '  if (session === undefined) return {}\n  const { outputs }',
      '  if (session === null) return {}\n  const { outputs }',
    ],
    [
      'the oldest state of a message counts',
      'versionOf(before) <= versionOf(change)',
      'versionOf(before) > versionOf(change)',
    ],
    [
      'a store that is down is poison',
      'if (error instanceof TooltrailError) return { failure',
      'if (error === null) return { failure',
    ],
    ['what fails counts as done', 'if (outcome?.done !== true) done.set', 'if (outcome === null) done.set'],
  ]),
  ...inFile('functions/history/indexer.ts', [
    ['the last failure is named', 'const at = failures.findIndex(', 'const at = failures.findLastIndex('],
    ['a failure of all is none', '      return { failed: [first.sequence] }\n', '      return { failed: [] }\n'],
  ]),
  ...inFile('functions/runtime/lambda/invocation.ts', [
    ['a function ends with work under way', '    await worker.idle()\n', ''],
    ['a warm function takes no work', '  worker.resume()\n', ''],
    ['the hand-over is not awaited', '    await handedOver\n', ''],
    [
      'what is handed over gets no hint',
      '      await ports.queue.send({ ...key, hops })',
      '      await Promise.resolve()',
    ],
    ['hops are not counted', 'handOver(loop, hops + 1)', 'handOver(loop, hops)'],
    ['nothing is cut off', "worker.cutOff('out_of_time')", 'worker.isServing'],
  ]),
]
