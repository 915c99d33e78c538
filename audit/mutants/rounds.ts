import { inFile } from './mutant.ts'

const LOOP = 'functions/agent/loop'

/** Mutants of one round: the completion, its calls, and their execution. */
export const ROUND_MUTANTS = [
  ...inFile('functions/agent/loop/sources/source-counter.ts', [
    ['numbers are not recorded', '{ numbered: given }', '{ numbered: [] }'],
    ['recorded numbers are given again', 'sources.recorded = Math.max(', 'void Math.max('],
  ]),
  ...inFile('functions/agent/loop/context/summarise.ts', [
    [
      'what a summary stands for is summarised again',
      'before, after: former?.through })',
      'before, after: undefined })',
    ],
  ]),
  ...inFile('functions/log/request/consolidation.ts', [
    ['a summary stands for nothing', '      through ??= message.id', "      through ??= '0'"],
  ]),
  ...inFile('functions/agent/loop/sources/citations-at-end.ts', [
    [
      'sources of the runs that it continues are forgotten',
      'new Set([leader.runId, ...turn',
      'new Set([leader.runId, ...turn.slice(0, 0)',
    ],
  ]),
  ...inFile('functions/agent/loop/tools/execute-calls.ts', [
    [
      'a newer client tool keeps an approved call from executing',
      "if (row.origin === 'client' || (tool === undefined && isClientTool(",
      'if (row.origin || (isClientTool(',
    ],
    ['a call is executed that nobody could be asked about', "&& row.needs !== 'approval'", '&& row.needs === null'],
  ]),
  ...inFile(`${LOOP}/tools/call-checks.ts`, [
    ['approval is not asked for', 'if (tool?.needsApproval !== true) return', 'if (tool !== null) return'],
    ['client tools are executed here', ": { needs: 'result' }", ': {}'],
    ['somebody is asked about malformed arguments', '{ fault: checked.fault }', '{ needs }'],
    ['a call that was not checked is refused', 'return { needs, isUnchecked: true }', "return { fault: 'unchecked' }"],
    [
      'a run that waits for its turn to check is stalled',
      'const done = writer.startWatchdog(CHECKS_MS)',
      'const met = () => undefined',
    ],
    ['checks wait for ever', '() => over.abort()', '() => undefined'],
    ['checks outlast a cancel', 'AbortSignal.any([over.signal, writer.signal])', 'over.signal'],
  ]),
  ...inFile('functions/agent/loop/tools/strict-arguments.ts', [
    ['a check whose time is over is made', "signal.aborted ? 'unchecked' : check()", 'check()'],
    ['checks have no rest between them', 'sleep(REST * took)', 'sleep(0 * took)'],
    ['checks of a tenant run side by side', 'turns.set(tenant, over)', 'void over'],
  ]),
  ...inFile('functions/agent/loop/tools/call-ids.ts', [
    ['missing ids stay missing', "call.id === '' || used.has(call.id)", 'used.has(call.id)'],
    ['ids repeated in a batch stay', "call.id === '' || used.has(call.id)", "call.id === ''"],
  ]),
  ...inFile('functions/agent/loop/model/unstored-usage.ts', [
    ['what the log holds counts twice', 'begun === undefined || !(await isStored(state, begun))', 'true'],
  ]),
  ...inFile('functions/agent/loop/tools/execute-calls.ts', [
    ['no look at the clock before a tool starts', '  state.writer.check()\n', ''],
    ['one call after the other', 'const PARALLEL = 8', 'const PARALLEL = 1'],
    ['any number of calls at once', 'const PARALLEL = 8', 'const PARALLEL = 64'],
    ['results are not stored', '  writer.storeResult({ row', '  if (row === null) writer.storeResult({ row'],
    ['two executions of an idempotent call share an object', 'attempt: String(writer.generation)', "attempt: '1'"],
  ]),
  ...inFile('functions/agent/loop/model/complete.ts', [
    ['a model is asked under a lease that is over', '    target.keeper.check()\n', ''],
    [
      'a completion that was cut off fails the run',
      'if (!(error instanceof CompletionFailed) || !(error.cause instanceof CutOff)) throw error',
      'if (error !== null) throw error',
    ],
    [
      'a completion that no process has time for is asked for for ever',
      "if (thread.isWhole && error.cause.why === 'out_of_time')",
      "if (thread.isWhole && error.cause.why === 'shutting_down')",
    ],
    [
      'the call that is demanded may be left out',
      'if (demanded === undefined || satisfies(completion.toolCalls, requireTool))',
      'if (demanded !== null)',
    ],
  ]),
  ...inFile(`${LOOP}/thread.ts`, [
    ['every run has a round more', 'roundsOf(thread)) >= maxRounds', 'roundsOf(thread)) > maxRounds'],
    ['the budget is no reason to stop', 'if (thread.budget.most !== null &&', 'if (thread.budget.most === 0 &&'],
    ['calls whose arguments were cut off are executed', '  if (isCutShort(asked))\n', '  if (asked === null)\n'],
    [
      'calls of the last round are executed',
      '  if (last !== undefined) return `this',
      '  if (last === null) return `this',
    ],
  ]),
  ...inFile('functions/agent/loop/tools/tool-call.ts', [
    [
      'what a call comes to when its run must end is dropped',
      'if (!signal.aborted || signal.reason instanceof LeaseLost) throw error',
      'if (!signal.aborted || signal.reason !== undefined) throw error',
    ],
    [
      'a tool that ignores its time limit is waited for',
      'await raceAbort(running, signal).catch((error: unknown) => late(running, context, error))',
      'await running',
    ],
    ['a tool gets no signal', '{ ...context, signal, progressed }', '{ ...context, progressed }'],
    [
      'what a tool throws ends the run',
      '    return failure(error instanceof Error ? error.message : String(error))',
      '    throw error',
    ],
    [
      'a cancel is a failure of the tool',
      '    context.signal.throwIfAborted()\n    if (signal.aborted)',
      '    if (signal.aborted)',
    ],
    [
      'malformed arguments are none',
      '  } catch {\n    return undefined\n  }\n}\n\n/** Checked at run time',
      '  } catch {\n    return {}\n  }\n}\n\n/** Checked at run time',
    ],
  ]),
  ...inFile('functions/agent/loop/model/complete.ts', [
    ['no retry', 'const RETRIES = 3', 'const RETRIES = 0'],
    [
      'what a provider refuses is counted',
      "else if (idle.signal.aborted || output !== '') await target.count(",
      'else await target.count(',
    ],
    [
      'what a refusal says that it took is not counted',
      'if (named !== undefined && isNamed(named)) await',
      'if (false) await',
    ],
    [
      'what breaks off is not counted',
      "if (idle.signal.aborted || output !== '') await",
      'if (idle.signal.aborted) await',
    ],
    [
      'a cancel before any output is not counted',
      "if (idle.signal.aborted || output !== '') await",
      "if (output !== '') await",
    ],
    [
      'requests to a silent model are not counted',
      "if (idle.signal.aborted || output !== '') await",
      "if (signal.aborted || output !== '') await",
    ],
    ['what lacks the demanded call is not counted', '  await countUnstoredOf(state, thread, completion)\n', ''],
    ['silence has no limit', 'const SILENT_MS = 120_000', 'const SILENT_MS = 120_000_000'],
    [
      'a stream that ignores its signal is waited for',
      'await raceAbort(events.next(), idle.signal)',
      'await events.next()',
    ],
    ['the limit of silence does not begin anew', '      idle.restart()\n', ''],
    [
      'every error is tried again',
      '  if (!(error instanceof ModelError) || !error.retryable) return false\n',
      '  if (!(error instanceof ModelError)) return false\n',
    ],
    ['failed attempts stay in what had streamed', '    streamed = []\n    return', '    return'],
    ['a retry is not told', 'if (count > 1) target.restart', 'if (count > 9) target.restart'],
    ['no wait between attempts', 'const wait = waitAfter(error, attemptNumber)', 'const wait = 0'],
  ]),
]
