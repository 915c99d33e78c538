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
      '  await state.writer.settled()\n  await state.ports.lease.release',
      '  await state.ports.lease.release',
    ],
    ['hand-over without releasing', '  await state.ports.lease.release(state.held.lease)\n', ''],
    [
      'the last round may wait for others',
      'message, last === undefined)\n  if (last === undefined) return false',
      'message, true)\n  if (last === undefined) return false',
    ],
    [
      'calls of the last round are executed',
      "await executeOpenCalls(state, thread, `this was the run's last round (${last}): no further calls`)",
      'await executeOpenCalls(state, thread)',
    ],
    ['the last round goes on', '  if (last === undefined) return false\n', '  return false\n'],
    [
      'there is no last round',
      'const last = lastRoundReason(thread)\n',
      'const last = lastRoundReason({ ...thread, messages: [] })\n',
    ],
    [
      'a pause without looking at the rows again',
      'openCalls(thread).map((row) => reader.message',
      'openCalls(thread).slice(64).map((row) => reader.message',
    ],
    [
      'a pause without awaiting results',
      'const { lease } = state.held\n  await state.writer.settled()\n  // Some',
      'const { lease } = state.held\n  // Some',
    ],
    [
      'a pause although other calls are open',
      "if (waiting.length === 0 || waiting.some((row) => row.status !== 'waiting')) return false",
      'if (waiting.length === 0) return false',
    ],
    ['a refused pause is taken for one', '    await state.keeper.poll()\n    return false', '    return true'],
    ['a lost lease ends the run', "if (isLeaseLost(error)) return 'lost'", "if (error === null) return 'lost'"],
    [
      'a run ends without its results',
      '    await state.writer.settled().catch((failed: unknown) => {\n      if (isLeaseLost(failed)) throw failed\n    })\n',
      '',
    ],
    [
      'a steering input runs as queued',
      'if ((await state.keeper.poll()).queued === 0) return',
      'if ((await state.keeper.poll()).queued >= 0) return',
    ],
    ['every queued input steers', "if (queued.onBusy !== 'steer') continue\n", ''],
    [
      'a steering input comes before results',
      '.queued === 0) return\n  await state.writer.settled()\n',
      '.queued === 0) return\n',
    ],
    [
      'a steering input is not sent to the model',
      'if (message !== undefined) remember(thread, [message])',
      'if (message === null) remember(thread, [])',
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
      'if (streamed.length === 0) return',
      'if (streamed.length >= 0) return',
    ],
    [
      'calls that an end closes are not told',
      'for (const message of ended.closed)',
      'for (const message of ended.closed.slice(1_000))',
    ],
    [
      'a failed run keeps no error message',
      "    parts: [...parts, { type: 'error', code: error.code, text: error.message }],",
      '    parts,',
    ],
    [
      'a failure is an end by cancel',
      "return { outcome: 'failed', stopReason: 'error', error, message }",
      "return { outcome: 'cancelled', stopReason: 'error', error, message }",
    ],
    ['given up after 4', 'const MOST_TAKEOVERS = 3', 'const MOST_TAKEOVERS = 4'],
    ['given up after 2', 'const MOST_TAKEOVERS = 3', 'const MOST_TAKEOVERS = 2'],
  ]),
  ...inFile(`${LOOP}/open-run.ts`, [
    ['a cancel that was found is not looked at first', '    rejectCancelled(held)\n', ''],
    ['nothing is repaired', '    await repairCalls(state)\n', ''],
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
    ['a run that cannot be opened keeps its lease', '    } finally {\n      state.keeper.stop()\n    }\n', '    }\n'],
    ['a run that cannot be opened is left as it is', '      await endRun(state, endAfter(error, state))\n', ''],
    ['repaired rows are executed again', '    remember(leader, repaired)\n', ''],
    ['only the first rows are repaired', 'at += REPAIRED_AT_ONCE', 'at += 100_000'],
    ['every tool may run again', '?.idempotent === true', '?.idempotent !== undefined'],
    ['no tool may run again', '?.idempotent === true', '?.idempotent === undefined'],
    [
      'allowed calls are repaired',
      "row.status === 'running' && !isRepeatable(row)",
      "row.status !== 'waiting' && !isRepeatable(row)",
    ],
    [
      'repairs are not told',
      'for (const message of repaired) state.emit',
      'for (const message of repaired.slice(1_000)) state.emit',
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
      '  await state.ports.log.appendRound(',
      '  state.emit(messageCompleted(assistant))\n  await state.ports.log.appendRound(',
    ],
    ['a round is not awaited', '  await state.ports.log.appendRound(', '  void state.ports.log.appendRound('],
    [
      'approval is not asked for',
      'tools.get(call.name)?.needsApproval === true',
      'tools.get(call.name)?.needsApproval === undefined',
    ],
    ['client tools are executed here', "return 'result'", 'return undefined'],
    ['more calls than may be', '.slice(0, MOST_CALLS)', '.slice(0)'],
    ['results carry no generation', 'generation: lease.generation', 'generation: 0'],
    ['sequences are all 0', '      sequence,\n', '      sequence: 0,\n'],
    ['missing ids stay missing', "call.id === '' || used.has(call.id)", 'used.has(call.id)'],
    ['ids repeated in a batch stay', "call.id === '' || used.has(call.id)", "call.id === ''"],
    ['somebody is asked about malformed arguments', 'isExecutable && tools', 'tools'],
  ]),
  ...inFile(`${LOOP}/tool-batch.ts`, [
    ['no look at the clock before a tool starts', '  keeper.check()\n', ''],
    ['no look at the signal before a tool starts', '  signal.throwIfAborted()\n', ''],
    ['one call after the other', 'const PARALLEL = 8', 'const PARALLEL = 1'],
    ['any number of calls at once', 'const PARALLEL = 8', 'const PARALLEL = 64'],
    ['results are not stored', '  state.writer.write({ row', '  if (row === null) state.writer.write({ row'],
    [
      'allowed calls are begun without a write',
      'await ports.log.beginApproved(held.lease, row.id)',
      "ports === undefined ? row : { ...row, status: 'running' as const, generation: held.lease.generation }",
    ],
    ['allowed calls are not begun', '  await beginApproved(state, thread)\n', ''],
    [
      'waiting calls are executed',
      ".filter((row) => row.status === 'running')",
      ".filter((row) => row.status !== 'approved')",
    ],
    ['two executions of an idempotent call share an object', 'attempt: String(held.lease.generation)', "attempt: '1'"],
  ]),
  ...inFile(`${LOOP}/completion.ts`, [
    [
      'a completion that was cut off fails the run',
      'if (!(error instanceof CompletionFailed) || !(error.cause instanceof CutOff)) throw error',
      'if (error !== null) throw error',
    ],
    [
      'a completion that no process has time for is asked for for ever',
      "if (isWhole && error.cause.why === 'out_of_time')",
      "if (isWhole && error.cause.why === 'told_to_stop')",
    ],
    ['every run has a round more', 'roundsOf(thread) >= maxRounds', 'roundsOf(thread) > maxRounds'],
    ['the budget is no reason to stop', 'maxRunTokens !== null && tokensOf', 'maxRunTokens === 0 && tokensOf'],
    [
      'the call that is demanded may be left out',
      'if (demanded === undefined || satisfies(completion.toolCalls, requireTool)) return completion',
      'if (demanded !== null) return completion',
    ],
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
  ...inFile(`${LOOP}/load-log.ts`, [
    [
      'only the first page is read',
      'if (enough || !page.more || before === undefined) return',
      'if (enough || !page.more || before !== null) return',
    ],
  ]),
]
