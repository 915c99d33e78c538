import { inFile } from './mutant.ts'

const LOOP = 'functions/agent/loop'

/** Mutants of the execution of a run: the order of durable writes, cancels, pauses, hand-offs, leases and results. */
export const LOOP_MUTANTS = [
  ...inFile(`${LOOP}/run-loop.ts`, [
    [
      'a completion is stored while results are being stored',
      '    await state.writer.settled() // Rule 3.\n    // Rule 6.',
      '    // Rule 6.',
    ],
    [
      'a completion is stored although the work must stop',
      '    if (state.writer.signal.aborted) throw new CompletionFailed(state.writer.signal.reason, completion.parts)\n',
      '',
    ],
    [
      'the hand-over is not looked at',
      "if (stops.afterRound.aborted) return 'handed_off'\n        const ending",
      'const ending',
    ],
    [
      'hand-over without awaiting results',
      '  await state.writer.settled() // Rule 3.\n  await state.writer.release',
      '  await state.writer.release',
    ],
    ['hand-over without releasing', '  await state.writer.release()\n', ''],
    [
      'a run ends while results of its last round are being stored',
      '        await state.writer.settled() // Rule 3.\n        return ends.finish',
      '        return ends.finish',
    ],
    ['a keeper goes on after its run', '      state.writer.stop()\n', ''],
    [
      'a pause without looking at the rows again',
      'ownCalls(thread).map((row) => reads.reader.message',
      'ownCalls(thread).slice(64).map((row) => reads.reader.message',
    ],
    [
      'a pause without awaiting results',
      'const { reads, writer } = state\n  await writer.settled() // Rule 3.\n  // Some',
      'const { reads, writer } = state\n  // Some',
    ],
    [
      'a pause although other calls are open',
      "if (waiting.length === 0 || waiting.some((row) => row.status !== 'waiting')) return false",
      'if (waiting.length === 0) return false',
    ],
    [
      'a steering input runs as queued',
      'if ((await writer.readHeader()).queued === 0) return',
      'if ((await writer.readHeader()).queued >= 0) return',
    ],
    [
      'a steering input comes before results',
      '.queued === 0) return\n  await writer.settled() // Rule 3.\n',
      '.queued === 0) return\n',
    ],
    ['a steering input is not sent to the model', '    if (message !== undefined) remember(leader, [message])\n', ''],
  ]),
  ...inFile(`${LOOP}/run-ending.ts`, [
    ['a refused end is not tried as cancelled', '?? (await endCancelled())', ''],
    [
      'a superseded run says that it was cancelled',
      "const stopReason = reason === 'superseded' ? 'superseded' : 'cancelled'",
      "const stopReason = reason === 'superseded' ? 'cancelled' : 'cancelled'",
    ],
    [
      'what was produced before a cancel is dropped',
      'if (streamed.length === 0) return',
      'if (streamed.length >= 0) return',
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
    [
      'a lost lease ends the run',
      "if (isLeaseLost(error)) return { phase: 'lost' }",
      "if (error === null) return { phase: 'lost' }",
    ],
    [
      'a run ends without its results',
      'await state.writer.settled().catch((refusal: unknown) => withoutResult(state, error, refusal))\n',
      '\n',
    ],
    [
      'a run ends although nobody knows of its results',
      '  if (isLeaseLost(refusal)) throw refusal\n  if (refusal ===',
      '  if (refusal ===',
    ],
    ['given up after 4', 'const MAX_TAKEOVERS = 3', 'const MAX_TAKEOVERS = 4'],
    ['given up after 2', 'const MAX_TAKEOVERS = 3', 'const MAX_TAKEOVERS = 2'],
  ]),
  ...inFile(`${LOOP}/open-run.ts`, [
    ['a cancel that was found is not looked at first', '    rejectCancelled(held)\n', ''],
    ['nothing is repaired', '  for (const thread of threadsOf(state.leader)) await repairCalls(state, thread)\n', ''],
    [
      'a crash loop is never given up',
      '    if (crashLoop === undefined) {',
      '    if (crashLoop === undefined || crashLoop.message !== undefined) {',
    ],
    [
      'what crashes again and again is loaded before it is given up',
      '    const crashLoop = endOfCrashLoop(opening)\n',
      '    await loadContext(opening.reads.reader, opening.writer.key, held.run.id, opening.leader.agent)\n    const crashLoop = endOfCrashLoop(opening)\n',
    ],
    ['what summaries took is forgotten', '  takeNoteOfSummaries(leader, run, messages)\n', ''],
    [
      'the session of another is shown',
      'held.session ?? (await readSession(opening))',
      '({ ...held.session, ...opening.writer.key, agent: held.run.agent } as Session)',
    ],
    ['a run that cannot be opened keeps its lease', '  opening.writer.stop()\n  return { phase', '  return { phase'],
    [
      'repaired rows are executed again',
      'remember(thread, await writer.interruptCalls(interrupted))',
      'await writer.interruptCalls(interrupted)',
    ],
    ['a run that cannot be opened is left as it is', '    await stopAfter(run, error)\n', ''],
  ]),
  ...inFile(`${LOOP}/open-thread.ts`, [
    [
      'a model or tools that do not open are waited for',
      'await raceAbort(withinTime(OPEN_MS, who, open), writer.signal)',
      'await open()',
    ],
  ]),
  ...inFile(`${LOOP}/writer/lease-keeper.ts`, [
    ['no margin', 'until - LEASE_MARGIN_MS', 'until'],
    ['no watch by the clock alone', '  void every(POLL_MS, async () => check()) //', '  //'],
    [
      'a lease is believed extended although the heartbeat failed',
      "    await withinTime(LEASE_CALL_MS, 'the store', () => leases.heartbeat(lease, next))\n    until = next\n",
      "    until = next\n    await withinTime(LEASE_CALL_MS, 'the store', () => leases.heartbeat(lease, next))\n",
    ],
    ['an expired lease is extended', '    check() // The', '    // The'],
    ['no heartbeat', '  void every(HEARTBEAT_MS, beat)\n', ''],
    ['no look', '  void every(POLL_MS, poll)\n', ''],
    [
      'a look that fails ends the looks',
      '        if (error instanceof LeaseLost) lose(error)\n        else',
      '        if (error instanceof LeaseLost) lose(error)\n        else if (POLL_MS > 0) return\n        else',
    ],
    [
      'a refused heartbeat is tried again',
      'if (error instanceof LeaseLost) lose(error)\n',
      'if (error === null) lose(error)\n',
    ],
    ['another generation is no loss', ' || header.generation !== lease.generation)', ')'],
    [
      'a cancel is not seen',
      'else if (header.cancel?.run === lease.runId) work.abort',
      "else if (header.cancel?.run === '') work.abort",
    ],
    ['a deleted session is no loss', "header?.status !== 'live' || header.generation", 'header?.generation'],
    ['a heartbeat attests life alone', "    if (isStalled()) throw lose(new Error('the work is stalled'))\n", ''],
    [
      'work that nobody expects anything of stands still for ever',
      'idleSince !== undefined && now - idleSince',
      'idleSince === -1 && now - idleSince',
    ],
    [
      'a look that does not come back is waited for',
      "await withinTime(LEASE_CALL_MS, 'the store', () => leases.readHeader(lease))",
      'await leases.readHeader(lease)',
    ],
    ['looks every 5 s', 'const POLL_MS = 500', 'const POLL_MS = 5_000'],
    ['stopping ends nothing', 'stop: () => stopped.abort(STOPPED)', 'stop: () => undefined'],
  ]),
  ...inFile('functions/agent/loop/writer/retrying-store.ts', [
    [
      'a store that does not come back is waited for',
      "return await raceAbort(withinTime(timeoutMs, 'the store', attempt), signal)",
      'return await operation()',
    ],
    ['an attempt that comes back late is lost', '    resolve(result)\n', ''],
    ['a store that fails ends the run', '      if (ends(error)) throw error\n', '      throw error\n'],
    ['a store that fails is asked for ever', 'if (clock.now() + wait >= until) throw', 'if (until === 0) throw'],
    [
      'a result that the store refuses for good ends the run',
      'signal: keeper.lost, isForGood: isLost })',
      'signal: keeper.lost, isForGood }) ',
    ],
  ]),
  ...inFile('functions/agent/loop/context/context.ts', [
    [
      'only the first page is read',
      'if (enough || !page.more || before === undefined) break',
      'if (enough || !page.more || before !== null) break',
    ],
  ]),
]
