import { inFile } from './mutant.ts'

/** Mutants of deliveries: of their claims, failures and retries. */
export const DELIVERY_MUTANTS = [
  ...inFile('functions/delivery/driver.ts', [
    [
      'a delivery that another has claimed is claimed',
      'if (isUnclaimed(delivery, clock.now())) return { found: delivery }',
      'return { found: delivery }',
    ],
    ['a failure of the channel counts as none', 'const failures = claim.delivery.failures + 1', 'const failures = 0'],
    ['what was stopped counts as a failure', 'if (signal.aborted) return { retryAt: clock.now() }', ''],
    ['a delivery waits for a store that does not come back', '...inTime(given)', '...given'],
    ['a claim stays when a look is over', '...(end.keepClaim === true ? {} : { owner: null })', ''],
    [
      'nobody is told of what failed for good',
      "outcome.status === 'failed') dependencies",
      "outcome.status === 'delivered') dependencies",
    ],
    ['what is due soon waits for a sweep', 'wait >= SOON_MS', 'wait >= 0'],
    ['what kills whoever begins it is begun for ever', 'if (isGivenUp(first)) await', 'if (first.begun === -1) await'],
    ['what was left again and again is begun at once', 'else if (!(await isPostponed(dependencies, first)))', 'else'],
    ['whoever may kill goes beside others', 'slots.take(isSuspect(first)', 'slots.take(false'],
    [
      'who has waited for a turn takes what it saw before',
      'slot?.hasWaited === true ? await',
      'slot === undefined ? await',
    ],
    ['an end forgets no death', 'failures, begun: null, ...', 'failures, ...'],
  ]),
  ...inFile('functions/delivery/give-up.ts', [['nobody is told of what is given up', '  noteFailure?.(failed)\n', '']]),
  ...inFile('functions/delivery/unserved.ts', [
    ['a delivery is postponed before others can claim it', 'clock.now() - due >= LEFT_TO_OTHERS_MS', 'due > 0'],
    ['a delivery without settings is retried for ever', 'failures >= MAX_POSTPONEMENTS', 'failures < 0'],
  ]),
  ...inFile('functions/domain/delivery.ts', [
    ['the first to leave a delivery makes it a suspect', 'const SUSPECT = 2', 'const SUSPECT = 1'],
    ['waits do not grow', 'FIRST_WAIT_MS * 2 ** (begun - SUSPECT)', 'FIRST_WAIT_MS'],
    ['waits have no end', 'MAX_WAIT_MS)\n', 'Infinity)\n'],
  ]),
  ...inFile('functions/delivery/due-of-session.ts', [
    [
      'what is neither due nor hinted at is begun',
      'hinted === true || due <= clock.now()',
      'hinted !== null || due <= 0',
    ],
    [
      'what waits hides what is due behind it',
      'if (page.length < PAGE) return',
      'if (page.length < PAGE || after === undefined) return',
    ],
  ]),
  ...inFile('functions/delivery/delivery-slots.ts', [
    ['others begin beside who goes alone', 'if (!isExclusive && !isHeld) return', 'if (!isExclusive) return'],
    ['who goes alone does not wait for others', 'while (inFlight.size > 0) await', 'while (inFlight.size < 0) await'],
    [
      'who goes alone holds others as long as it likes',
      'clock.sleep(EXCLUSIVE_MS, done.signal)',
      'clock.sleep(Infinity, done.signal)',
    ],
    [
      'others wait until all have gone that go alone',
      'for (const one of others.splice(0)) void one.begin()\n      if (exclusives.length === 0) return',
      'if (exclusives.length === 0) {\n        for (const one of others.splice(0)) void one.begin()\n        return\n      }',
    ],
    [
      'any number waits to go alone',
      'isExclusive && exclusives.length >= MAX_WAITING',
      'isExclusive && exclusives.length < 0',
    ],
    ['who is told to stop waits for its turn', "signal.addEventListener('abort', leave, { once: true })", ''],
  ]),
  ...inFile('functions/delivery/claim.ts', [
    ['nobody counts who begins a delivery', 'hinted: null, begun })', 'hinted: null })'],
    [
      'a claim that was lost goes on',
      '        lost.abort()\n        throw new ClaimLost(`delivery',
      '        throw new ClaimLost(`delivery',
    ],
  ]),
  ...inFile('functions/delivery/due-deliveries.ts', [
    ['a sweep hints at once at what was left again and again', 'if (wait > 0)', 'if (wait < 0)'],
    ['a hint leaves no mark', '{ owner: null, hinted: true, due', '{ owner: null, due'],
    [
      'a sweep waits for a store that does not come back',
      'const dependencies = inTime(ports)',
      'const dependencies = ports',
    ],
  ]),
  ...inFile('functions/adapters/sqlite/log/deliveries/outbox.ts', [
    ['a change asks for no mark', 'AND id = ? AND mark = ?', 'AND id = ? AND mark <> ?'],
  ]),
  ...inFile('functions/channels/callbacks/channel.ts', [
    [
      'the body is not fixed before it is sent',
      '      await work.save(asJson({ ...stateOf(work.delivery), body }))\n',
      '',
    ],
    ['a receiver that wants no more is asked again', 'if (last.status === GONE || wait', 'if (wait'],
  ]),
  ...inFile('functions/runtime/channels.ts', [
    ['a callback that is given up does not say why', '{ at: clock.now(), error }', '{ at: clock.now() }'],
  ]),
  ...inFile('functions/channels/callbacks/by-hand.ts', [
    ['what is sent again by hand is still given up', 'failures: 0, begun: null }', 'failures: 0 }'],
  ]),
  ...inFile('functions/domain/messages/feedback.ts', [
    ['an earlier rating replaces a later one', 'former.at < one.at', 'former.at !== one.at'],
  ]),
]
