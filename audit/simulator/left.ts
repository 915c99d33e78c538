import type { SessionKey } from '../../functions/domain/session.ts'
import type { Input, ScriptSession } from './scripts/script.ts'
import type { SharedStore } from './world/stores.ts'

/** Time without activity after which a session expires, if it may expire at all. */
export const EXPIRY_MS = 86_400_000
/** Time since the last activity of the processes that died before the beginning. Their leases have expired. */
const GONE_MS = 70_000

/**
 * Stores a session in the state in which dead processes left it at the beginning. `now` is in milliseconds since 1970.
 * Returns the accepted inputs and the time of the last activity.
 */
export async function leaveSession(
  store: SharedStore,
  { tenant, session, left, expires }: ScriptSession,
  now: number,
): Promise<{ accepted: { runId: string; input: string }[]; activeAt: number }> {
  const activeAt = now - (left === undefined ? 0 : left === 'expired' ? 2 * EXPIRY_MS : GONE_MS)
  const { sessions, inbox, lease, deletion } = store.portsFor({ now: () => activeAt, sleep: async () => undefined })
  const key: SessionKey = { tenant, session }
  await sessions.create({ ...key, agent: 'default', metadata: {}, ...(expires === true ? { ttlDays: 1 } : {}) })
  if (left === undefined || left === 'expired') return { accepted: [], activeAt }
  const input: Input = { name: `left-${session}`, rounds: [['read']], ids: 'fresh' }
  const parts = [{ type: 'text', text: JSON.stringify(input) } as const]
  const run = { agent: 'default', trigger: 'input', onBusy: 'queue', clientTools: [], input: { parts } } as const
  const { runId } = await inbox.enqueue(key, run)
  const seen = await lease.readHeader(key)
  if (left === 'running' && seen !== undefined) await lease.start(seen, 'gone')
  if (left === 'deleted') await deletion.tombstone(key)
  return { accepted: [{ runId, input: input.name }], activeAt }
}
