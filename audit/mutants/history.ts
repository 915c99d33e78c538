import { inFile } from './mutant.ts'

/** Mutants of the code that updates the history index from the log, and of the functions that run it. */
export const HISTORY_MUTANTS = [
  ...inFile('functions/history/index-messages.ts', [
    [
      'no second look for a tombstone',
      'if (parts.length === 0 || after.get(sessionOf(target.key)) !== undefined) continue',
      'if (parts.length === 0 || after !== undefined) continue',
    ],
    [
      'deleted sessions are indexed',
      'if (!isStored(change) || session === undefined) {',
      'if (!isStored(change) || session === null) {',
    ],
    [
      'a stored row of a deleted session is no removal',
      'for (const part of documentParts(role, documents)) await',
      'for (const part of documentParts(role, isStored(change) ? 0 : documents)) await',
    ],
    [
      'the oldest state of a message counts',
      'targetOf(before).revision <= targetOf(change).revision',
      'targetOf(before).revision > targetOf(change).revision',
    ],
    [
      'work goes on when the time is over',
      'if (signal?.aborted === true) return void',
      'if (signal === null) return void',
    ],
  ]),
  ...inFile('functions/history/add-documents.ts', [
    [
      'a store that is down is poison',
      "if (error instanceof TooltrailError) return { error: text, cause: 'unread' }",
      "if (error === null) return { error: text, cause: 'unread' }",
    ],
    [
      'an output has no end when the time has one',
      'if (signal?.aborted === true) return { failure: LATE }',
      'if (signal === null) return { failure: LATE }',
    ],
  ]),
  ...inFile('functions/history/write-buffer.ts', [
    ['what fails counts as done', 'if (outcome?.done !== true) failed', 'if (outcome === null) failed'],
    ['everything is written at the end', 'if (units >= UNITS_AT_ONCE) await flush()', 'if (units < 0) await flush()'],
  ]),
  ...inFile('functions/history/indexer.ts', [
    ['the last failure is named', 'const at = failures.findIndex(', 'const at = failures.findLastIndex('],
    ['a failure of all is none', '      return { failed: [first.sequence] }\n', '      return { failed: [] }\n'],
    [
      'what cannot be read holds up the others for ever',
      "failure.cause === 'unread' && old && othersAreDone",
      "failure.cause === 'unread' && false",
    ],
    ['what is old is put aside at its first failure', ' && tried > TRIED_MS', ' && tried >= 0'],
    ['what cannot be read is put aside at once', "'unread' && old && othersAreDone", "'unread' && othersAreDone"],
  ]),
  ...inFile('functions/runtime/lambda/invocation.ts', [
    ['a function ends with work under way', '    await worker.idle()\n', ''],
    ['a warm function takes no work', '  worker.resume()\n', ''],
    ['a call that was given up is frozen', '    await worker.callsEnded()\n', ''],
    ['the hand-over is not awaited', '    await handedOff\n', ''],
    [
      'what is handed over gets no hint',
      '      await ports.queue.send({ ...key, hops })',
      '      await Promise.resolve()',
    ],
    ['hops are not counted', 'handOff(loop, hops + 1)', 'handOff(loop, hops)'],
    ['nothing is cut off', "worker.cutOff('out_of_time')", 'worker.isServing'],
  ]),
  ...inFile('functions/runtime/aws/clients.ts', [
    ['a response that stands still keeps its connection', '  socketTimeout: milliseconds,\n', ''],
  ]),
]

/** Mutants of the index that SQLite stores beside the log. */
export const PROJECTION_MUTANTS = [
  ...inFile('functions/adapters/sqlite/history/documents/merge.ts', [
    ['what has changed meanwhile is stored as it was', "if (state !== 'same') return", "if (state === 'gone') return"],
    ['what is gone meanwhile is stored', "if (state !== 'same') return", "if (state === 'changed') return"],
    [
      'what has changed meanwhile is not read again',
      "=> outcomes[place] === 'changed')",
      '=> outcomes[place] === undefined)',
    ],
    [
      'what is stored stays marked',
      "if (isFlushed) write(database, 'DELETE FROM historyMarks WHERE message = ?', row.number)",
      'if (isFlushed) pending.has(row.number)',
    ],
    ['what was learned in a transaction that was undone is believed', '    tables.undone()\n', ''],
    ['the last batch is not stored', '  await storeBatch(true)\n  return changed', '  return changed'],
    ['words are not stored at the end', '(isLast && !pending.isEmpty())', 'pending.has(-1)'],
    [
      'two merges store the same documents',
      "if (pending.has(row.number)) return 'gone'",
      "if (pending.has(-1)) return 'gone'",
    ],
    ['what was undone counts as stored', '    pending.forget()\n', ''],
    [
      'a long message is stored without its last documents',
      "if (outcome !== 'same' || !more) return",
      "if (outcome !== 'same' || start > 0) return",
    ],
  ]),
  ...inFile('functions/adapters/sqlite/history/documents/tables.ts', [
    ['a removal removes no words of its session', 'if (isEmpty(database, rows)) {', 'if (database === null) {'],
    [
      'former documents stay',
      'if (known !== undefined) gathered.documents -= removeDocuments',
      'if (known === -1) gathered.documents -= removeDocuments',
    ],
    ['words of documents that were undone are stored', '      pending.forget()\n', ''],
    ['removed documents are still counted', '  countDocuments(database, rows, -count)\n', ''],
    [
      'pending words go with their documents',
      '  if (hasPendingWords(database, key, messageId)) keepPendingWords({ database, reader }, rows, id)\n',
      '',
    ],
    [
      'pending words of an assistant are not stored by the next process',
      'if (hasPendingWords(database, key, messageId)) runs.push',
      'if (messageId === key.session) runs.push',
    ],
  ]),
  ...inFile('functions/adapters/sqlite/history/vocabulary/pending-words.ts', [
    ['words of sessions that are gone are stored', '.filter(({ rows }) => !isEmpty(database, rows))', ''],
  ]),
  ...inFile('functions/adapters/sqlite/history/vocabulary/audiences.ts', [
    [
      'documents of a session count for the owner that each names',
      'if (known !== undefined) return known',
      'if (known !== undefined && document.owner === undefined) return known',
    ],
  ]),
  ...inFile('functions/adapters/sqlite/history/documents/marked-documents.ts', [
    ['a deleted session is indexed', ' AND s.live = 1`', '`'],
  ]),
  ...inFile('functions/adapters/sqlite/history/documents/pending-messages.ts', [
    [
      'a change in between is not noticed',
      'UPDATE historyMarks SET first = 0, stored',
      'UPDATE historyMarks SET stored',
    ],
    ['two processes take up what the other has stored', ' AND documents IS NOT 0', ''],
    ['what has changed in between is unmarked', 'FROM json_each(?)) AND stored = ?', 'FROM json_each(?)) AND ? > 0'],
  ]),
  ...inFile('functions/adapters/sqlite/history/vocabulary/known-words.ts', [
    [
      'marks of owners of another age count',
      'marks.audienceAge === audienceAge ? marks.audiences &',
      'marks.audienceAge >= 0 ? marks.audiences &',
    ],
    [
      'marks of sessions of another age count',
      'marks.sessionAge === sessionAge && (marks',
      'marks.sessionAge >= 0 && (marks',
    ],
    ['a session that comes again has said nothing', 'if (!isKnown) for', 'if (isKnown) for'],
    [
      'what others have changed is as it was left',
      'if (left.get(tenant) !== lastWord(database, tenant)) for',
      'if (left.get(tenant) === null) for',
    ],
    ['what was undone is known', '      left.delete(tenant)\n', ''],
    ['marks never end', '> MAX_MARK_BITS) begin()', '> Infinity) begin()'],
  ]),
  ...inFile('functions/adapters/sqlite/history/vocabulary/vocabulary-writer.ts', [
    [
      'words that the tenant had before are taken for new ones',
      'if (added === sorted.length) addOwners',
      'if (added >= 0) addOwners',
    ],
    [
      'an owner has what its tenant has',
      'if (audiencesOn(run, marking) === all) continue',
      'if (audiencesOn(run, marking) !== 0) continue',
    ],
    ['words of an owner are those of its tenant', 'else if (having !== all) ofOwner', 'else if (having === 0) ofOwner'],
    [
      'words of an owner stay whose last session lost them to another',
      'rows.owner !== undefined && isLastOfOwner(database, rows) && forgetOwner',
      'rows.owner === -1 && isLastOfOwner(database, rows) && forgetOwner',
    ],
    ['words are forgotten in any order', 'gone.toSorted((left, right) => left.id - right.id)', 'gone'],
  ]),
  ...inFile('functions/adapters/sqlite/log/sessions/session-deletion.ts', [
    ['what is not indexed yet is not counted', 'mostDocuments(message) : 0', '0 : 0'],
    ['documents stay', 'history.removeSome(row, id, DOCUMENTS_AT_ONCE - documents)', '{ count: 0, more: false }'],
    ['a message goes before its last document', '    if (more) break\n', ''],
  ]),
]
