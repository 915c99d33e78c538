import { inFile } from './mutant.ts'

const LOOP = 'functions/agent/loop'

/** Executing a run: order of durability, cancels, pauses, hand-over, results. */
export const LOOP_MUTANTS = [
  ...inFile(`${LOOP}/run-loop.ts`, [
    [
      'a completion is stored while results are being stored',
      '    isWhole = false\n    await state.writer.settled()\n',
      '    isWhole = false\n',
    ],
    [
      'a completion is stored although the work must stop',
      '    if (state.signal.aborted) throw new CompletionFailed(state.signal.reason, completion.parts)\n',
      '',
    ],
    [
      'a crash loop is never given up',
      'if (crashLoop !== undefined) return finish',
      'if (crashLoop === null) return finish',
    ],
    [
      'the hand-over is not looked at',
      'if (handOver.afterRound.aborted) return release',
      'if (handOver.afterRound === null) return release',
    ],
    [
      'hand-over without awaiting results',
      'async function release(dependencies: LoopDependencies, state: RunState): Promise<LoopEnding> {\n  await state.writer.settled()\n',
      'async function release(dependencies: LoopDependencies, state: RunState): Promise<LoopEnding> {\n',
    ],
    ['hand-over without releasing', '  await dependencies.lease.release(state.held.lease)\n', ''],
    [
      'the last round may wait for others',
      'message, last === undefined)\n  if (last === undefined) return false',
      'message, true)\n  if (last === undefined) return false',
    ],
    [
      'calls of the last round are executed',
      '  await refuseCalls(dependencies, state, `this',
      '  await executeOpenCalls(dependencies, state)\n  if (last === null) await refuseCalls(dependencies, state, `this',
    ],
    ['the last round goes on', '  if (last === undefined) return false\n', '  return false\n'],
    [
      'the budget is no reason to stop',
      'const last = lastRoundReason(state)\n',
      'const last = lastRoundReason({ ...state, messages: [] })\n',
    ],
    [
      'a pause without looking at the rows again',
      'const rows = await Promise.all(openCalls(state).map((row) => reader.message(lease, row.id)))',
      'const rows = await Promise.all(openCalls(state).slice(64).map((row) => reader.message(lease, row.id)))',
    ],
    [
      'a pause without awaiting results',
      'const { lease } = state.held\n  await state.writer.settled()\n  // Some',
      'const { lease } = state.held\n  // Some',
    ],
    [
      'a pause although other calls are open',
      "if (first === undefined || waiting.some((row) => row.status !== 'waiting')) return false",
      'if (first === undefined) return false',
    ],
    ['a refused pause is taken for one', '    await state.keeper.poll()\n    return false', '    return true'],
    ['a lost lease ends the run', "if (isLeaseLost(error)) return 'lost'", "if (error === null) return 'lost'"],
    [
      'a run ends without its results',
      'await state.writer.settled().catch((failed: unknown) => {\n      if (isLeaseLost(failed)) throw failed\n    })\n',
      '',
    ],
  ]),
  ...inFile(`${LOOP}/run-ending.ts`, [
    ['a refused end is not tried as cancelled', '?? (await endCancelled())', ''],
    [
      'a superseded run says that it was cancelled',
      "stopReason: reason === 'superseded' ? 'superseded' : 'cancelled',",
      "stopReason: 'cancelled',",
    ],
    [
      'what was produced before a cancel is dropped',
      '...(streamed.length === 0\n        ? {}',
      '...(streamed.length >= 0\n        ? {}',
    ],
    [
      'calls that an end closes are not told',
      'for (const message of ended.closed)',
      'for (const message of ended.closed.slice(1_000))',
    ],
    [
      'a failed run keeps no error message',
      '    error: runError,\n    message: assistantMessage(state, now, { parts,',
      '    error: runError,\n    message: assistantMessage(state, now, { parts: streamed,',
    ],
    [
      'a failure is an end by cancel',
      "    outcome: 'failed',\n    stopReason: 'error',\n    error: runError,",
      "    outcome: 'cancelled',\n    stopReason: 'error',\n    error: runError,",
    ],
  ]),
  ...inFile(`${LOOP}/open-run.ts`, [
    ['a cancel that was found is not looked at first', '    rejectCancelled(state)\n', ''],
    ['nothing is repaired', '    await repairCalls(dependencies, state)\n', ''],
    [
      'repair before the log is read',
      '    state.messages = await loadLog(dependencies.reader, lease, run.id)\n    await repairCalls(dependencies, state)\n',
      '    await repairCalls(dependencies, state)\n    state.messages = await loadLog(dependencies.reader, lease, run.id)\n',
    ],
    ['ids go on from nothing', '    head: lease.head,\n', '    head: undefined,\n'],
    [
      'the loss of the lease stops nothing',
      'AbortSignal.any([keeper.signal, writer.signal])',
      'AbortSignal.any([writer.signal])',
    ],
    [
      'a failed result stops nothing',
      'AbortSignal.any([keeper.signal, writer.signal])',
      'AbortSignal.any([keeper.signal])',
    ],
    ['a run that cannot be opened keeps its lease', '    } finally {\n      keeper.stop()\n    }\n', '    }\n'],
    [
      'a run that cannot be opened is left as it is',
      '      await endRun(dependencies, state, endAfter(error, state, dependencies.clock.now()))\n',
      '',
    ],
  ]),
  ...inFile(`${LOOP}/resume-run.ts`, [
    ['given up after 4', 'const MOST_TAKEOVERS = 3', 'const MOST_TAKEOVERS = 4'],
    ['given up after 2', 'const MOST_TAKEOVERS = 3', 'const MOST_TAKEOVERS = 2'],
    ['repaired rows are executed again', '    remember(state, repaired)\n', ''],
    ['only the first rows are repaired', 'at += REPAIRED_AT_ONCE', 'at += 100_000'],
    ['every tool may run again', '?.idempotent === true', '?.idempotent !== undefined'],
    ['no tool may run again', '?.idempotent === true', '?.idempotent === undefined'],
    [
      'allowed calls are begun without a write',
      "if (row.status === 'approved') remember(state, [await log.beginApproved(state.held.lease, row.id)])",
      "if (row.status === 'approved') remember(state, [{ ...row, status: 'running' as const, generation: log === undefined ? 0 : state.held.lease.generation }])",
    ],
    [
      'waiting calls are executed',
      ".filter((row) => row.status === 'running')",
      ".filter((row) => row.status !== 'approved')",
    ],
  ]),
  ...inFile(`${LOOP}/lease-keeper.ts`, [
    ['no margin', 'until - LEASE_MARGIN_MS', 'until'],
    ['no watch by the clock alone', '  void every(POLL_MS, async () => check())\n', ''],
    [
      'a lease is believed extended although the heartbeat failed',
      '    await leases.heartbeat(lease, next)\n    until = next\n',
      '    until = next\n    await leases.heartbeat(lease, next)\n',
    ],
    ['no heartbeat', '  void every(HEARTBEAT_MS, beat)\n', ''],
    ['no look', '  void every(POLL_MS, poll)\n', ''],
    [
      'a look that fails ends the looks',
      '        if (error instanceof LeaseLost) work.abort(error)\n        else',
      '        if (error instanceof LeaseLost) work.abort(error)\n        else if (POLL_MS > 0) return\n        else',
    ],
    [
      'a refused heartbeat is tried again',
      'if (error instanceof LeaseLost) work.abort(error)\n',
      'if (error === null) work.abort(error)\n',
    ],
    ['another generation is no loss', ' || header.generation !== lease.generation)', ')'],
    [
      'a cancel is not seen',
      'else if (header.cancel?.run === lease.runId) work.abort',
      "else if (header.cancel?.run === '') work.abort",
    ],
    ['a deleted session is no loss', "header.status !== 'live' || ", ''],
    ['looks every 5 s', 'const POLL_MS = 500', 'const POLL_MS = 5_000'],
    ['stopping ends nothing', 'stop: () => stopped.abort()', 'stop: () => undefined'],
  ]),
  ...inFile(`${LOOP}/result-writer.ts`, [
    [
      'a row before its object',
      '      await outputs.put(lease, content.object.name',
      '      void outputs.put(lease, content.object.name',
    ],
    [
      'a result is told before it is stored',
      '    const message = await log.completeCall(lease, {',
      "    emit({ type: 'tool_call.completed', id: eventId(row.id, 'tool_call.completed'), runId: row.runId, message: row })\n    const message = await log.completeCall(lease, {",
    ],
    ['a failed write is not known', 'failed.abort(error)', 'void error'],
    ['settled awaits nothing', '      await Promise.all(pending)\n', ''],
    ['settled knows no failure', '      failed.signal.throwIfAborted()\n', ''],
  ]),
  ...inFile(`${LOOP}/store-round.ts`, [
    [
      'a round is told before it is stored',
      '  await log.appendRound(lease, { assistant, tools: rows })\n',
      "  state.emit({ type: 'message.completed', id: eventId(id, 'message.completed'), runId: run.id, message: assistant })\n  await log.appendRound(lease, { assistant, tools: rows })\n",
    ],
    ['a round is not awaited', '  await log.appendRound(', '  void log.appendRound('],
    [
      'approval is not asked for',
      'tools.get(call.name)?.needsApproval === true',
      'tools.get(call.name)?.needsApproval === undefined',
    ],
    ['client tools are executed here', "return 'result'", 'return undefined'],
    ['more calls than may be', '.slice(0, MOST_CALLS)', '.slice(0)'],
    ['results carry no generation', 'generation: lease.generation', 'generation: 0'],
    ['sequences are all 0', '      sequence,\n', '      sequence: 0,\n'],
  ]),
  ...inFile(`${LOOP}/steer-run.ts`, [
    ['a steering input runs as queued', 'if (header.queued === 0) return', 'if (header.queued >= 0) return'],
    ['every queued input steers', "if (queued.onBusy !== 'steer') continue\n", ''],
    ['a steering input comes before results', '  await state.writer.settled()\n', ''],
    [
      'a steering input is not sent to the model',
      'if (message !== undefined) remember(state, [message])',
      'if (message === null) remember(state, [])',
    ],
  ]),
  ...inFile(`${LOOP}/tool-batch.ts`, [
    ['no look at the clock before a tool starts', '  keeper.check()\n', ''],
    ['no look at the signal before a tool starts', '  signal.throwIfAborted()\n', ''],
    ['one call after the other', 'const PARALLEL = 8', 'const PARALLEL = 1'],
    ['any number of calls at once', 'const PARALLEL = 8', 'const PARALLEL = 64'],
    [
      'a tool that the agent does not list',
      'agent.tools.includes(call.name) ? dependencies.tools.get(call.name) : undefined',
      'dependencies.tools.get(call.name)',
    ],
    ['results are not stored', '  writer.write({ row', '  if (row === null) writer.write({ row'],
  ]),
  ...inFile(`${LOOP}/tool-call.ts`, [
    [
      'a tool that ignores its time limit is waited for',
      'await Promise.race([tool.execute(input, { ...context, signal }), rejectOnAbort(signal)])',
      'await tool.execute(input, { ...context, signal })',
    ],
    ['a tool gets no signal', '{ ...context, signal }', '{ ...context }'],
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
      '  } catch {\n    return undefined\n  }\n}\n\n/** Tools come',
      '  } catch {\n    return {}\n  }\n}\n\n/** Tools come',
    ],
  ]),
  ...inFile(`${LOOP}/completion-request.ts`, [
    ['no retry', 'const RETRIES = 3', 'const RETRIES = 0'],
    ['silence has no limit', 'const IDLE_MS = 120_000', 'const IDLE_MS = 120_000_000'],
    ['the limit of silence does not begin anew', '      idle.restart()\n', ''],
    [
      'every error is tried again',
      'error instanceof ModelError && error.retryable && ',
      'error instanceof ModelError && ',
    ],
    ['failed attempts stay in what had streamed', '    streamed = []\n    return', '    return'],
    ['a retry is not told', 'if (count > 1) target.emit', 'if (count > 9) target.emit'],
    [
      'no wait between attempts',
      'await target.clock.sleep(waitAfter(error, attemptNumber), signal)',
      'await target.clock.sleep(0, signal)',
    ],
  ]),
  ...inFile(`${LOOP}/call-ids.ts`, [
    ['missing ids stay missing', "call.id === '' || used.has(call.id)", 'used.has(call.id)'],
    ['ids repeated in a batch stay', "call.id === '' || used.has(call.id)", "call.id === ''"],
  ]),
  ...inFile(`${LOOP}/hand-over.ts`, [
    [
      'a completion that was cut off fails the run',
      'if (!(error instanceof CompletionFailed) || !(error.cause instanceof CutOff)) throw error',
      'if (error !== null) throw error',
    ],
    [
      'a completion that no process has time for is asked for for ever',
      "if (isWhole && error.cause.why === 'out_of_time')",
      "if (!isWhole && error.cause.why === 'told_to_stop' && isWhole)",
    ],
  ]),
  ...inFile(`${LOOP}/load-log.ts`, [
    [
      'only the first page is read',
      'if (enough || !page.more || before === undefined) return',
      'if (enough || !page.more || before !== null) return',
    ],
  ]),
]
