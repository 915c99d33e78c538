import { inFile } from './mutant.ts'

const LOOP = 'functions/agent/loop'

/** Mutants of the writer of a run: the order of its writes, their ids and events, and the signal that stops the run. */
export const RUN_WRITER_MUTANTS = [
  ...inFile(`${LOOP}/writer/run-writer.ts`, [
    ['a round is not awaited', '        await log.appendRound(', '        void log.appendRound('],
    ['refused calls are not awaited', '        await log.append(lease, rows)', '        void log.append(lease, rows)'],
    ['a steering input is not emitted', 'message && [messageSteered(message)] }', 'message && [] }'],
    [
      'repairs are not emitted',
      'events: repaired.map(callCompleted)',
      'events: repaired.slice(1_000).map(callCompleted)',
    ],
    ['ids begin anew', 'createLogIds(lease.head, ports.clock)', 'createLogIds(undefined, ports.clock)'],
    [
      'the loss of the lease stops nothing',
      'AbortSignal.any([keeper.signal, results.signal, failed.signal])',
      'AbortSignal.any([results.signal, failed.signal])',
    ],
    [
      'a failed result stops nothing',
      'AbortSignal.any([keeper.signal, results.signal, failed.signal])',
      'AbortSignal.any([keeper.signal, failed.signal])',
    ],
    ['decisions repeat their number', '        number++\n', ''],
  ]),
  ...inFile(`${LOOP}/writer/status-writes.ts`, [
    [
      'the last calls of a run are not emitted',
      '...calls.map(callCompleted)',
      '...calls.slice(1_000).map(callCompleted)',
    ],
    [
      'calls that clients resolved before the end are not read',
      'resolved.map(({ id }) => id)',
      'resolved.slice(1_000).map(({ id }) => id)',
    ],
    [
      'a refused pause counts as a pause',
      '        await store.readHeader()\n        return false',
      '        return true',
    ],
    ['calls that clients resolved in a pause are not emitted', '.filter(isResolved)', '.filter(() => false)'],
    ['calls that are only approved are emitted as ended', '.filter(isResolved)', ''],
    [
      'a takeover emits the calls of an earlier pause',
      "  if (pause?.type !== 'run.paused' || !isOurs) return []\n",
      '',
    ],
    [
      'a resumption is emitted before the calls of its pause',
      'for (const call of readsCalls',
      'emit(lastChange(run) as never)\n      for (const call of readsCalls',
    ],
  ]),
  ...inFile(`${LOOP}/writer/result-writer.ts`, [
    [
      'a row before its object',
      'of content.objects) await outputs.put(lease, name',
      'of content.objects) void outputs.put(lease, name',
    ],
    [
      'a result is emitted before it is stored',
      '      const message = await log.completeCall(lease, end)',
      '      void emitInOrder(async () => ({ result: undefined, events: [callCompleted(row)] }))\n      const message = await log.completeCall(lease, end)',
    ],
    ['a failed write is not known', 'failed.abort(error)', 'void error'],
    ['settled awaits nothing', '      await Promise.all(pending)\n', ''],
    ['settled knows no failure', '      failed.signal.throwIfAborted()\n', ''],
  ]),
]

/** Mutants of the writer. Only runs with several threads can detect them. */
export const SHARED_WRITER_MUTANTS = [
  ...inFile(`${LOOP}/writer/run-writer.ts`, [['a failed thread stops no other', ', failed.signal])', '])']]),
  ...inFile(`${LOOP}/writer/run-writer.ts`, [
    [
      'a member begins before its task is stored',
      '        await log.append(lease, tasks)',
      '        void log.append(lease, tasks)',
    ],
  ]),
  ...inFile(`${LOOP}/writer/log-ids.ts`, [
    ['two threads extend the log at the same time', 'extended.then(extend)', 'extend()'],
  ]),
  ...inFile(`${LOOP}/writer/result-writer.ts`, [
    [
      "results of one thread are forgotten when another's are stored",
      '      await Promise.all(pending)\n',
      '      await Promise.all(pending)\n      pending.clear()\n',
    ],
  ]),
]
