import { inFile } from './mutant.ts'

/** What keeps one process at a delivery, and finds it again. */
export const DELIVERY_MUTANTS = [
  ...inFile('functions/delivery/driver.ts', [
    [
      'a delivery that another has claimed is claimed',
      'if (isUnclaimed(seen, clock.now())) return seen',
      'return seen',
    ],
    [
      'what is neither due nor hinted at is begun',
      'if (delivery.hinted === true || (delivery.due ?? 0) <= clock.now()) begin',
      'if (delivery.id !== "") begin',
    ],
    ['a failure of the channel counts as none', 'const failures = claim.delivery.failures + 1', 'const failures = 0'],
    ['what was stopped counts as a failure', 'if (signal.aborted) return { again: clock.now() }', ''],
    ['a delivery waits for a store that does not come back', 'dependencies = inTime(given)', 'dependencies = given'],
    ['a claim stays when a look is over', '...(end.held === true ? {} : { owner: null })', ''],
    [
      'nobody is told of what failed for good',
      "outcome.status === 'failed') dependencies",
      "outcome.status === 'delivered') dependencies",
    ],
    ['what is due soon waits for a sweep', 'wait >= SOON_MS', 'wait >= 0'],
  ]),
  ...inFile('functions/delivery/claim.ts', [
    [
      'a claim that was lost goes on',
      '        lost.abort()\n        throw new ClaimLost(`delivery',
      '        throw new ClaimLost(`delivery',
    ],
  ]),
  ...inFile('functions/delivery/due-deliveries.ts', [
    ['a hint leaves no mark', '{ owner: null, hinted: true, due', '{ owner: null, due'],
    [
      'a sweep waits for a store that does not come back',
      'const dependencies = inTime(ports)',
      'const dependencies = ports',
    ],
  ]),
  ...inFile('functions/adapters/sqlite/log/outbox.ts', [
    ['a change asks for no mark', 'AND id = ? AND mark = ?', 'AND id = ? AND mark <> ?'],
  ]),
  ...inFile('functions/channels/callbacks/channel.ts', [
    ['the body is not fixed before it is sent', '      await work.save(asJson({ ...stateOf(delivery), body }))\n', ''],
    ['a receiver that wants no more is asked again', 'if (last.status === GONE || wait', 'if (wait'],
  ]),
  ...inFile('functions/domain/feedback.ts', [
    ['an earlier rating replaces a later one', 'former.at < one.at', 'former.at !== one.at'],
  ]),
]
