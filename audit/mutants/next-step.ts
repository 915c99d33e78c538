import { inFile } from './mutant.ts'

const LOOP = 'functions/agent/loop'

/** Mutants of the decision about the next step of a run, and of the driver that performs it. */
export const STEP_MUTANTS = [
  ...inFile(`${LOOP}/next-step.ts`, [
    ['refused calls of a dead holder are not stored', 'return first < asked.toolCalls.length ?', 'return first < 0 ?'],
    ['every tool may run again', '?.idempotent === true', '?.idempotent !== undefined'],
    ['no tool may run again', '?.idempotent === true', '?.idempotent === undefined'],
    [
      'approved calls are repaired',
      "row.status === 'running' && !isRepeatable(row)",
      "row.status !== 'waiting' && !isRepeatable(row)",
    ],
    ['approved calls are not begun', 'if (approved.length > 0) return', 'if (approved.length < 0) return'],
    [
      'waiting calls are executed',
      "open.filter(({ status }) => status === 'running')",
      "open.filter(({ status }) => status !== 'approved')",
    ],
    [
      'a completion of the last round is followed by another',
      'lastRoundReason(thread, answer) ?? (',
      '(answer.toolCalls.length < 0 ? undefined : undefined) ?? (',
    ],
    ['no request is the last one', 'last: lastRoundReason(thread) }', 'last: undefined }'],
    [
      'a summary is considered at every round',
      "thread.summary === 'due' && roundsOf(thread) === 0",
      "thread.summary === 'due'",
    ],
    ['a failure is taken for an answer', 'if (error !== undefined) return', 'if (error === null) return'],
  ]),
  ...inFile(`${LOOP}/run-loop.ts`, [
    [
      'approved calls are begun without a write',
      'remember(thread, [await state.writer.beginApproved(id)])',
      "remember(thread, step.calls.filter((row) => row.id === id).map((row) => ({ ...row, status: 'running' as const, generation: state.writer.generation })))",
    ],
    [
      'a summary begins although the run must be handed off',
      "if (stops.afterRound.aborted) return 'handed_off'\n        const unsent",
      'const unsent',
    ],
    ['notices of a summary are lost', '        notices = unsent\n', ''],
    [
      'a run that must be handed off pauses',
      "if (ending === 'handed_off') return release(state)",
      "if (ending === 'handed_off') return (await pauseRun(state)) ? { phase: 'paused' } : release(state)",
    ],
    ['a run is handed off although it waits', 'if (await pauseRun(state)) return', 'if (await release(state)) return'],
  ]),
  ...inFile(`${LOOP}/tools/store-round.ts`, [
    ['more calls than may be', 'message.toolCalls.slice(0, MAX_ROUND_CALLS)', 'message.toolCalls.slice(0)'],
    ['results carry no generation', '    generation: writer.generation,\n', '    generation: 0,\n'],
    ['sequences are all 0', '    sequence,\n', '    sequence: 0,\n'],
  ]),
  ...inFile(`${LOOP}/model/unstored-usage.ts`, [
    [
      'a completion that is not stored is not counted',
      'if (isUnstored && usage !== undefined) await',
      'if (isUnstored && usage === undefined) await',
    ],
  ]),
]

/** Mutants of the steps of teams. Runs without members do not detect them. */
export const TEAM_STEP_MUTANTS = [
  ...inFile(`${LOOP}/next-step.ts`, [
    [
      'a delegate call is interrupted although its member can go on',
      'thread.members.has(id) ||',
      'thread.members.has("") ||',
    ],
    [
      'a refused call is given to a member',
      'refusalOf(thread, asked, row.sequence) === undefined ?',
      'asked !== undefined ?',
    ],
    ['members count as calls', 'running.filter(({ id }) => !thread.members.has(id))', 'running'],
    [
      'a member that waits is continued',
      "nextStep(member).type === 'waitForDecision'",
      "nextStep(member).type === 'finish'",
    ],
  ]),
  ...inFile(`${LOOP}/tools/execute-calls.ts`, [
    ['a member that must be handed off waits', "=== 'waiting' ? 'done' : outcome", "=== '' ? outcome : 'done'"],
    ['a member that waits is handed off', "=== 'waiting' ? 'done' : outcome", "=== '' ? 'done' : 'handed_off'"],
  ]),
]
