import { inFile } from './mutant.ts'

const LOOP = 'functions/agent/loop'

/** Mutants of team members: their part of the log, their order, and their stop. */
export const TEAM_MUTANTS = [
  ...inFile(`${LOOP}/open-run.ts`, [
    ["a leader's request holds what its members did", 'messages.filter(isLeaders)', 'messages'],
    [
      'members are not found in the log',
      'found: messages.filter(({ runId }) => runId === leader.runId)',
      'found: messages.filter(({ runId }) => runId === "")',
    ],
    ['what members took is forgotten', '  takeNote(leader, messages)\n', ''],
  ]),
  ...inFile(`${LOOP}/open-thread.ts`, [
    ['members of members are not opened', '    await openMembers(state, member, found)\n', ''],
    ['a member goes on from nothing', '    remember(member, own)\n', '    remember(member, [task])\n'],
  ]),
  ...inFile(`${LOOP}/run-state.ts`, []),
  ...inFile('functions/agent/loop/writer/retrying-store.ts', []),
  ...inFile('functions/agent/loop/members/delegation.ts', [
    ['a member that has ended is asked again', '  if (before !== undefined) return before\n', ''],
    ["a member's failure ends the run", 'if (cause instanceof ModelError) {', 'if (cause === null) {'],
    [
      'what a member said before a cancel is dropped',
      '  if (streamed.length > 0) await store(',
      '  if (streamed.length > 1_000) await store(',
    ],
    ["what a member said before a cancel is its leader's, too", '  throw cause\n}', '  throw error\n}'],
  ]),
  ...inFile('functions/agent/loop/tools/execute-calls.ts', [
    ['a result of a member is stored twice', '  thread.members.delete(row.id)\n', ''],
    ['others go on when one must stop', '  state.writer.fail(error)\n  throw error', '  throw error'],
  ]),
  ...inFile(`${LOOP}/run-loop.ts`, [
    ['members are steered', 'steer: async () => undefined', 'steer: () => steerRun(state)'],
  ]),
  ...inFile(`${LOOP}/run-ending.ts`, [
    ["a run's messages are its leader's alone", 'return isAlone && openCalls', 'return openCalls'],
  ]),
  ...inFile(`${LOOP}/thread.ts`, [
    ['the rounds of all threads count', '&& message.parentMessageId === parentMessageId', ''],
    [
      "a member's budget is its own",
      'thread.budget.most !== null && tokensBefore(thread, asked?.id)',
      'thread.budget.most !== null && tokensBefore(thread, asked?.id, new Set(ownMessages(thread).map(({ id }) => id)))',
    ],
  ]),
  ...inFile('functions/agent/loop/record-decision.ts', [
    [
      'what is decided for one member holds for no other any more',
      ': state.context.decided.members?.[id]',
      ': undefined',
    ],
  ]),
]
