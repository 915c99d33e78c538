/* Evidence, imports: An input or import gets later run ids than an earlier import, whatever the clocks show. */
import { expect, test } from 'vitest'
import { lastIdOf, runsOf } from '../../../functions/agent/imports/import-runs.ts'
import { nextId } from '../../../functions/domain/ids.ts'
import type { Session } from '../../../functions/domain/session.ts'

const ORIGIN = { session: { tenant: 't', session: 's', agent: 'a' } as Session, source: undefined }
const BATCH = [0, 1].map((turn) => ({ message: { role: 'user', parts: [] }, turn, round: 0 }) as const)

test.each(['head', 'tail'] as const)(
  'imported runs get ids above a fast clock’s %s; their messages get ids above the run ids',
  (name) => {
    const ahead = nextId(undefined, 9_000)
    const runs = runsOf(ORIGIN, { [name]: ahead }, undefined, BATCH, 1_000)
    const ids = [...runs.values()].map(({ run }) => run.id)
    expect([ahead, ...ids].toSorted()).toEqual([ahead, ...ids])
    expect(lastIdOf(runs, undefined)).toBe(ids[1])
  },
)
