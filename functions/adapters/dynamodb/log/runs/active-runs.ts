import { sha256 } from '../../../../domain/hash.ts'
import { isEnded } from '../../../../domain/runs/run.ts'
import { assertCapacity } from '../../../../domain/runs/run-changes.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import type { RunLimits } from '../../../../ports/run-inbox.ts'
import { numberAt, textAt, toItem } from '../../attributes.ts'
import { absent, is } from '../../expressions.ts'
import { headerKey, runKey, type ItemKey } from '../../keys.ts'
import { isLive } from '../sessions/header-item.ts'
import { runStatusOf } from './run-item.ts'
import type { SessionRows } from '../sessions/session-rows.ts'
import type { Action } from '../../table.ts'

/** A run that was accepted for an API key. The run belongs to the API key's tenant. */
type Accepted = readonly [session: string, run: string]

/**
 * Size at which ended runs are removed from the list, even if the list has fewer runs than the API key's cap. An item
 * has at most 400 KB.
 */
const MAX_LIST_BYTES = 300_000

/**
 * Returns the key of the item with an API key's accepted runs. The id is hashed, because it may contain any character.
 */
export const activeKey = (keyId: string): ItemKey => ({
  pk: `A#${sha256(JSON.stringify(keyId))}`,
  sk: '#ACTIVE',
})

/**
 * Returns the action that enforces an API key's cap, to be part of the write that accepts a run. It adds the run to the
 * item that lists the API key's runs. The action fails if the item has changed since this function read it, so
 * concurrent writes never exceed the cap.
 * The end of a run does not change the item. If the list reaches the cap or its maximum size, strong reads show which
 * of its runs have ended, and the action removes these. Throws `too_many_active_runs` if none has ended.
 */
export async function countActions(
  rows: SessionRows,
  key: SessionKey,
  { keyId, mostActive }: RunLimits,
  runId: string,
): Promise<Action[]> {
  if (keyId === undefined || mostActive === undefined) return []
  const item = await rows.table.read(activeKey(keyId))
  const text = (item && textAt(item, 'runs')) ?? '[]'
  const listed = JSON.parse(text) as Accepted[]
  const isFull = listed.length >= mostActive || text.length > MAX_LIST_BYTES
  const active = isFull ? await stillActive(rows, key.tenant, listed) : listed
  assertCapacity(active.length, JSON.stringify(active).length > MAX_LIST_BYTES ? active.length : mostActive)
  const revision = item && numberAt(item, 'rev')
  const runs: Accepted[] = [...active, [key.session, runId]]
  const put = toItem({ ...activeKey(keyId), runs: JSON.stringify(runs), rev: (revision ?? 0) + 1 })
  return [{ put, when: revision === undefined ? absent('pk') : is('rev', revision) }]
}

/** Returns the runs that have not ended and whose sessions are not deleted. */
async function stillActive(
  { table }: SessionRows,
  tenant: string,
  listed: readonly Accepted[],
): Promise<readonly Accepted[]> {
  const keys = listed.map(([session, run]) => ({ key: { tenant, session }, run }))
  const items = await table.readMany(keys.flatMap(({ key, run }) => [headerKey(key), runKey(key, run)]))
  return listed.filter((_, place) => {
    const [header, run] = [items[place * 2], items[place * 2 + 1]]
    if (!isLive(header) || run === undefined) return false
    const status = runStatusOf(run)
    return status !== 'merged' && !isEnded(status)
  })
}
