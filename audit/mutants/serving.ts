import { inFile } from './mutant.ts'

/** Mutants of the code that acquires leases, accepts inputs and deletes sessions. */
export const SERVING_MUTANTS = [
  ...inFile('functions/agent/worker/session-worker.ts', [
    ['a lost lease does not end the serving', "entry.again && released !== 'lost' && ", 'entry.again && '],
    ['a hint during the serving is forgotten', '      current.again = true\n', ''],
    ['after a run nothing is looked for', '        entry.again = true\n', ''],
    [
      'a started run is not waited for',
      'return Promise.allSettled([current.done]).then(() => begin(key, started))',
      'return current.done',
    ],
    ['a stopped worker begins', 'stopping.afterRound.signal.aborted ? Promise.resolve() : begin(key)', 'begin(key)'],
    ['a worker never begins again', 'resume: () => void (stopping = createStops())', 'resume: () => undefined'],
    [
      'who was handed over is asked when all is over',
      'stopped([...serving.values()].map(({ key }) => keyOf(key)))',
      'stopped(undefined).then(() => [...serving.values()].map(({ key }) => keyOf(key)))',
    ],
    ['cutting off does not stop after the round', '  afterRound.abort()\n  atOnce.abort(', '  atOnce.abort('],
    ['a held session is taken', "seen.status !== 'live' || !isFree(seen, clock.now())", "seen.status !== 'live'"],
    ['a blocked run is taken', 'seen.activeRun !== undefined && !isBlocked(seen)', 'seen.activeRun !== undefined'],
    [
      'a refused take is not looked at again',
      'if (taken === undefined) continue',
      'if (taken === undefined) return undefined',
    ],
    [
      'a run is taken without claiming its calls',
      'await leases.claim(taken)',
      '{ lease: taken, header: seen, open: [] }',
    ],
    [
      'a queued run is not started',
      'seen.activeRun === undefined && seen.queued > 0',
      'seen.activeRun === undefined && seen.queued > 1',
    ],
    [
      'a run that begins after the hand-over gets no hint',
      'if (isUnknown && released.phase',
      'if (!isUnknown && ending',
    ],
    ['what has no work stays due', '(await janitor.clearDue(key))', 'janitor !== undefined'],
  ]),
  ...inFile('functions/agent/events/header-polling.ts', [
    ['a change of the header is not told', 'if (hasChanged) changes++', 'if (hasChanged && changes < 0) changes++'],
    ['a failed poll wakes no consumer', '      changes++\n      wake()', '      void tails'],
    [
      'a poll wakes no consumer',
      "if (hasChanged || of === 'events') wake()",
      "if (hasChanged && of === 'events') wake()",
    ],
  ]),
  ...inFile('functions/agent/events/follow-run.ts', [
    [
      'what the header says nothing of is not told while the run goes on',
      "(since === 'time' && status === 'running')",
      "(since === 'time' && status === 'queued')",
    ],
    [
      'where a run is executed no change is looked for',
      "if (status === 'running' && worker.isServing(key)) return false",
      "if (status !== 'paused') return false",
    ],
    [
      'what was dropped is read from a read that began before',
      'isStale, drop: begin })',
      'isStale, drop: () => undefined })',
    ],
  ]),
  ...inFile('functions/agent/events/live-order.ts', [
    ['a live event is shown although one before it is missing', '      if (!follows(event)) return false\n', ''],
  ]),
  ...inFile('functions/agent/events/run-timeline.ts', [
    [
      'calls end in the order of their rows',
      'comparePositions(end.position, position) <= 0)',
      'position !== undefined)',
    ],
    [
      'a missing position is not waited for',
      'if (isOver || isSettled || last === undefined) return false',
      'if (position.number >= 0) return false',
    ],
    ['a later holder comes before its claim', ' || open.values().some(isUnclaimed)', ''],
    ['a round comes before the end of a call', ' && !state.isOver && state.open.size > 0', ' && state.open.size < 0'],
  ]),
  ...inFile('functions/agent/events/resume-point.ts', [
    [
      'a resume after a warning omits its round',
      "if (leaders.role === 'user' && found.isBefore) return leaders.id",
      'if (found.isBefore) return found.message.id',
    ],
    [
      'a resume after the beginning omits all rounds but the last',
      " || !isTerminal({ type } as RunEvent) || type === 'run.paused') return undefined",
      ') return undefined',
    ],
  ]),
  ...inFile('functions/agent/loop/writer/event-sequence.ts', [
    ['events are emitted before those of earlier writes', '      await before\n', ''],
    [
      'a position without a write is lost',
      '      if (events === undefined && next === number + count) next = number\n',
      '',
    ],
  ]),
  ...inFile('functions/agent/loop/resolved-calls.ts', [
    [
      'what clients resolve during a run is not emitted',
      'if (resolved.length === 0) return',
      'if (resolved.length >= 0) return',
    ],
    ['a holder keeps the tools of its copy', '  if (read) await readRequest(state)\n', ''],
  ]),
  ...inFile('functions/agent/events/until-settled.ts', [
    ['who waits for an end wakes for nothing', "poll.since(state) !== 'change'", "poll.since(state) !== 'time'"],
    ['a run that waits is waited for', '      if (header !== undefined && isBlocked(header)) return\n', ''],
  ]),
  ...inFile('functions/agent/events/coalescing-reader.ts', [
    [
      'what others have begun to read before is new enough',
      'one === undefined || one.begun <= since',
      'one === undefined',
    ],
  ]),
  ...inFile('functions/ports/time-limited.ts', [
    [
      'a store that does not come back is waited for',
      "await withinTime(OPERATION_MS, 'the store', operation)",
      'await operation()',
    ],
  ]),
  ...inFile('functions/agent/worker/serve-hint.ts', [
    ['a hint for a tombstone does nothing', 'else if (!state.removed) await', 'else if (state.removed) await'],
  ]),
  ...inFile('functions/agent/worker/delete-session.ts', [
    [
      'objects are not removed a second time',
      '    await outputs.removeAll(key)\n    await deletion.finish(key)',
      '    await deletion.finish(key)',
    ],
    [
      'a deletion is finished before late writers are over',
      '  await deletion.markRemoved(key, await outputs.removeAll(key))\n',
      '  await deletion.markRemoved(key, await outputs.removeAll(key))\n  await deletion.finish(key)\n',
    ],
    [
      'only some rows are removed',
      'for (let more = true; more;) {',
      'for (let more = true, steps = 0; more && steps < 1; steps++) {',
    ],
    [
      'a deletion knows no deadline',
      'if (clock.now() > deadline) return stateOf',
      'if (clock.now() > Infinity) return stateOf',
    ],
    [
      'objects stay',
      'await deletion.markRemoved(key, await outputs.removeAll(key))',
      'await deletion.markRemoved(key, 0)',
    ],
    ['a removed session is not finished', '    await deletion.finish(key)\n', ''],
  ]),
  ...inFile('functions/agent/worker/sweeper.ts', [
    ['what was looked at is not postponed', 'await janitor.postpone(session, due)', 'due > 0'],
    ['a tombstone is due when it was', 'tombstones.push({ ...session, due })', 'tombstones.push(session)'],
    [
      'a store that does not come back ends all sweeps',
      'const dependencies = inTime(ports)',
      'const dependencies = ports',
    ],
    [
      'expired sessions go before due ones',
      '  const tombstones = await hintAll(dependencies, deadline)\n',
      '  await expireAll(dependencies, deadline)\n  const tombstones = await hintAll(dependencies, deadline)\n',
    ],
    ['due sessions get no hint', 'await queue.send(session.key)', 'void queue'],
    ['tombstones are left', 'tombstones.push({ ...session, due })', 'tombstones.slice()'],
    ['no deletion is left to who has begun it', 'clock.now() - session.due < BEGUN_MS', 'clock.now() < 0'],
    [
      'a failure is not postponed',
      'await janitor.postpone(session, again()).catch((failed: unknown) => report(dependencies, session.key, failed))',
      'void again',
    ],
    ['expired sessions stay', '  await expireAll(dependencies, shareOf(dependencies.clock, deadline))\n', ''],
    [
      'deletions take all the time',
      'await deleteAll(dependencies, tombstones, shareOf(dependencies.clock, deadline))',
      'await deleteAll(dependencies, tombstones, deadline)',
    ],
    ['only one page is looked at', 'full = page.length >= PAGE', 'full = false'],
  ]),
  ...inFile('functions/agent/worker/serve-hint.ts', [
    ['a session in use expires', '{ ifExpired: true }', '{ ifExpired: false }'],
  ]),
  ...inFile('functions/agent/service/accept-run.ts', [
    [
      'a repeated input wakes nobody',
      '  await wake(dependencies, key, placement)\n  return { runId, repeated }\n',
      '  if (!repeated) await wake(dependencies, key, placement)\n  return { runId, repeated }\n',
    ],
    [
      'a queued input wakes nobody',
      '  await wake(dependencies, key, placement)\n  return { runId, repeated }\n',
      '  return { runId, repeated }\n',
    ],
    [
      'a started run is executed by nobody',
      'runInBackground(dependencies, key, done)',
      'runInBackground(dependencies, key, worker.idle())',
    ],
    [
      'a hint that fails is the caller’s failure',
      "    logger.error('could not send a hint', error, { tenant: key.tenant, session: key.session })\n",
      "    logger.error('could not send a hint', error, { tenant: key.tenant, session: key.session })\n    throw error\n",
    ],
    [
      'what fails later is heard by nobody',
      '  work.catch((error: unknown) => {',
      '  void work.then(() => {\n    const error = undefined',
    ],
  ]),
  ...inFile('functions/agent/service/create-agent-service.ts', [
    [
      'a cancel takes no free run',
      'runInBackground(dependencies, key, worker.serve(key))',
      'runInBackground(dependencies, key, worker.idle())',
    ],
    [
      'a resolution wakes nobody',
      ')).complete) await wake(dependencies, key, placement)',
      ')).complete) void placement',
    ],
    ['every resolution wakes', '.complete) await wake', '.stored >= 0) await wake'],
    [
      'continue goes on with a blocked run',
      'isBlocked(header) ? undefined : header?.activeRun',
      'isBlocked(header) ? header.activeRun : header?.activeRun',
    ],
    [
      'continue wakes nobody',
      '        await wake(dependencies, key, placement)\n        return given',
      '        return given',
    ],
    [
      'a continue that joins a run forgets its key',
      'await inbox.join(key, joined, idempotency)',
      '{ runId: joined, repeated: false }',
    ],
    ['continue waits its turn', "trigger: 'continue', onBusy: 'reject'", "trigger: 'continue', onBusy: 'queue'"],
    [
      'a long deletion is left to the sweeper',
      'if (!state.removed) await hint(dependencies, key)',
      'if (state.removed) await hint(dependencies, key)',
    ],
  ]),
  ...inFile('functions/agent/service/resolutions.ts', [
    [
      'calls that are executed here take resolutions',
      'meant.filter(({ needs }) => needs !== undefined)',
      'meant.slice()',
    ],
    [
      'a refusal has the hash of a permission',
      'hash.update(`approve:${resolution.approve}`)',
      "hash.update('approve')",
    ],
    [
      'results have the same hash',
      'hash.update(`text:${part.text.length}:${part.text}`)',
      'hash.update(`text:${part.text.length}`)',
    ],
    [
      'any call of the same id is meant, whichever the sender saw',
      '(toolCallId ?? call.toolCallId) === call.toolCallId && (messageId ?? call.id) === call.id',
      '(toolCallId ?? call.toolCallId) === call.toolCallId',
    ],
    ['the latest call of the same id is meant', '= waited\n', '= waited.slice(-1)\n'],
    [
      'of several calls of the same id, any is meant',
      'if (row !== undefined && others.length === 0) return row',
      'if (row !== undefined && others.length >= 0) return row',
    ],
  ]),
]
