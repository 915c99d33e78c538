import { isExpired, type ApiKey } from '../../../domain/keys/api-key.ts'
import { timeText } from '../../../http/v1/time-text.ts'
import { harmlessJson } from '../../terminal.ts'

/** Describes a key on one line. */
export function describeKey(key: ApiKey, now: number): string {
  const { requestsPerSecond, activeRuns, openCalls, tokensPerDay } = key.caps
  const fields = [
    key.id,
    key.name && JSON.stringify(key.name),
    `tenant ${key.tenant}`,
    key.scopes.join('+'),
    key.owner && `owner ${key.owner}`,
    key.agents && `agents ${key.agents.join(', ')}`,
    requestsPerSecond && `${requestsPerSecond} requests/s`,
    activeRuns && `${activeRuns} active runs`,
    openCalls && `${openCalls} open calls`,
    tokensPerDay && `${tokensPerDay} tokens/day`,
    `created ${timeText(key.createdAt)}`,
    key.expiresAt && `${isExpired(key, now) ? 'expired' : 'expires'} ${timeText(key.expiresAt)}`,
    key.lastUsedAt && `last used ${timeText(key.lastUsedAt).slice(0, 10)}`,
    key.revokedAt && `revoked ${timeText(key.revokedAt)}`,
  ]
  return fields.filter(Boolean).join('  ')
}

/** Formats a key as one line of JSON with every field; a missing value is null. */
export function keyJson(key: ApiKey): string {
  const time = (milliseconds: number | undefined) => (milliseconds === undefined ? null : timeText(milliseconds))
  return harmlessJson({
    object: 'api_key',
    id: key.id,
    name: key.name ?? null,
    tenant: key.tenant,
    scopes: key.scopes,
    owner: key.owner ?? null,
    agents: key.agents ?? null,
    caps: {
      requests_per_second: key.caps.requestsPerSecond ?? null,
      active_runs: key.caps.activeRuns ?? null,
      open_calls: key.caps.openCalls ?? null,
      tokens_per_day: key.caps.tokensPerDay ?? null,
    },
    created_at: timeText(key.createdAt),
    expires_at: time(key.expiresAt),
    last_used_at: time(key.lastUsedAt),
    revoked_at: time(key.revokedAt),
  })
}
