import { inFile } from './mutant.ts'

/**
 * Mutants of imports: of runs and rounds that an import stores in several steps, source numbers, members, and marks of
 * searches.
 */
export const IMPORT_MUTANTS = [
  ...inFile('functions/agent/imports/cut-rounds.ts', [
    [
      'the rest of a round joins the round that was cut',
      'const left = isApart && ',
      "const left = message.role === 'user' && ",
    ],
    ['the rest of a round that is cut again joins the rest before', 'isApart ? [] : rests', 'rests'],
  ]),
  ...inFile('functions/agent/imports/append-closed.ts', [
    ['a round is cut for its characters', 'characters > MAX_ROUND_CHARACTERS', 'characters > MAX_STEP_CHARACTERS'],
    ['what is there already does not say which calls are open', '      writer.cut.stored(message)\n', ''],
  ]),
  ...inFile('functions/agent/imports/stored-calls.ts', [
    ['a call is one of another import', 'if (message.id >= first) yield', 'yield'],
    ['a call goes to the place that it had in the source', 'round.places?.get(call) ?? sequence', 'sequence'],
  ]),
  ...inFile('functions/agent/imports/stored-results.ts', [
    [
      'a result is the latest of its call',
      'const found = read[count - place]',
      'const found = read.find((one) => one.isOf(call))',
    ],
  ]),
  ...inFile('functions/agent/imports/import-step.ts', [
    ['a number that a source has is given to another', '[...kept, ...stored].some(isTaken)', 'kept.some(isTaken)'],
    [
      'a number of the same step is given to another source',
      '[...kept, ...stored].some(isTaken)',
      'stored.some(isTaken)',
    ],
    ['a source that a run has numbered meanwhile gets another number', ' || message < since', ''],
  ]),
  ...inFile('functions/agent/imports/closed-turns.ts', [
    [
      'numbers of sources take no row of a step',
      'rowsOfNumbers(message.numbered?.results.length ?? 0)',
      'rowsOfNumbers(0)',
    ],
  ]),
  ...inFile('functions/log/import/member-calls.ts', [
    ['numbers of sources have gaps', ' || number !== next', ''],
    ['a result is numbered twice', 'results.has(call) || withNumbers.has(call)', 'withNumbers.has(call)'],
    ['members name no call of an earlier turn', '=> byId.clear()', '=> (byRow.clear(), byId.clear())'],
  ]),
  ...inFile('functions/agent/imports/searched-marks.ts', [
    ['a leader does not hear that its member has searched', 'givers.has(one)', 'false'],
    [
      'a member does not hear that its leader has searched',
      '    if (named !== undefined && isTask) searched.set(named, true)\n',
      '',
    ],
  ]),
  ...inFile('functions/agent/imports/import-step.ts', [
    ['a turn goes on in its run behind what came between', 'head !== at.last', 'head === undefined'],
    [
      'the calls of an import are looked for in all of the log',
      'before.last !== seen.head',
      'before.last === seen.head',
    ],
  ]),
  ...inFile('functions/agent/imports/import-rounds.ts', [
    [
      'rounds count on from the beginning of the turn',
      "return stored - (message.role === 'tool' ? round + 1 : round)",
      'return 0',
    ],
    [
      'a run that an earlier call has left counts from 0 again',
      "holds === 'earlier' && run !== undefined",
      "holds === 'rest' && run !== undefined",
    ],
  ]),
  ...inFile('functions/agent/imports/import-runs.ts', [
    [
      "a member's task begins a run",
      "isInput(first) ? 'input' : 'continue'",
      "first.role === 'user' ? 'input' : 'continue'",
    ],
  ]),
]

/** Mutants of writes to a SQLite session from outside its runs: imports, copies and manual summaries. */
export const OUTSIDE_MUTANTS = [
  ...inFile('functions/agent/imports/closed-log.ts', [
    [
      'a log that is deleted meanwhile is copied as far as it was read',
      'if (!page.more || after === undefined) throw deletedMeanwhile(key)',
      'if (!page.more || after === undefined) return',
    ],
  ]),
  ...inFile('functions/adapters/sqlite/log/sessions/session-rows.ts', [
    [
      'the log of a deleted session is read',
      'WHERE tenant = ? AND session = ? AND live = 1',
      'WHERE tenant = ? AND session = ?',
    ],
  ]),
  ...inFile('functions/adapters/sqlite/log/messages/message-rows.ts', [
    [
      'a message of a deleted session is read',
      'WHERE tenant = ? AND session = ? AND live = 1) AND m.id',
      'WHERE tenant = ? AND session = ?) AND m.id',
    ],
  ]),
  ...inFile('functions/adapters/sqlite/log/messages/log-import.ts', [
    [
      'an import is stored beside a run',
      'row.generation === seen.generation && row.leaseOwner === null && row.activeRun === null && row.queued === 0',
      'row.queued === 0',
    ],
    [
      'a step is stored once more',
      '    if (before?.messages !== step.before?.messages) return undefined\n',
      '    if (before === null) return undefined\n',
    ],
    ['an import raises no generation', 'head: after.last, generation: row.generation + 1 }', 'head: after.last }'],
    ['an import does not move the head', 'step.messages), head: after.last, generation', 'step.messages), generation'],
    [
      'how far an import has come is not kept',
      '    if (step.name !== undefined) remember(database, row, step.name, after, now)\n',
      '',
    ],
    ['a name is forgotten at once', 'const until = name.forGood ? NEVER : now + CLAIM_MS', 'const until = now - 1'],
  ]),
  ...inFile('functions/adapters/sqlite/log/messages/message-codec.ts', [
    ['what was rated is another message', 'asJson(unrated(stored))', 'asJson(stored)'],
  ]),
  ...inFile('functions/adapters/sqlite/log/sessions/contexts.ts', [
    ['a summary by hand replaces what came meanwhile', '      row.generation === seen.generation &&\n', ''],
    ['a summary by hand is stored beside a run', '      row.activeRun === null &&\n', ''],
    [
      'a summary by hand replaces a later one',
      'findContext(database, row.number).summary?.through === made.from',
      'findContext(database, row.number) !== undefined',
    ],
    ['a decision is recorded once more', '    if (before === decision.number + 1) return\n', ''],
    [
      'what a summary takes does not count',
      '    if (completion !== undefined) count(database, row, completion, account)\n',
      '',
    ],
    ['what a summary by hand takes does not count', '    count(database, row, completion, made.account)\n', ''],
    [
      'a summary by hand forgets its key',
      '    if (made.idempotency === undefined) return true\n',
      '    if (made.context !== undefined) return true\n',
    ],
  ]),
]
