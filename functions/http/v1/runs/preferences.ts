const DEFAULT_WAIT_SECONDS = 60
const MAX_WAIT_SECONDS = 240

export interface Preferences {
  readonly respondAsync: boolean
  /** Milliseconds to wait for a run. */
  readonly waitMs: number
  /** For `Preference-Applied`. */
  readonly applied: string | undefined
}

/** What `Prefer` (RFC 7240) asks for; the rest is ignored, and a longer wait is cut to 240 s. */
export function readPreferences(header: string | undefined): Preferences {
  const wishes = (header ?? '').split(',').map((wish) => wish.trim().toLowerCase())
  const wait = wishes.flatMap((wish) => /^wait\s*=\s*"?(\d{1,9})"?\s*(?:;.*)?$/.exec(wish)?.[1] ?? []).at(0)
  const seconds = wait === undefined ? undefined : Math.min(Number(wait), MAX_WAIT_SECONDS)
  const respondAsync = wishes.some((wish) => /^respond-async\s*(?:;.*)?$/.test(wish))
  const applied = [...(respondAsync ? ['respond-async'] : []), ...(seconds === undefined ? [] : [`wait=${seconds}`])]
  return {
    respondAsync,
    waitMs: (seconds ?? (respondAsync ? 0 : DEFAULT_WAIT_SECONDS)) * 1000,
    applied: applied.length === 0 ? undefined : applied.join(', '),
  }
}

/** Whether `Accept` asks for server-sent events. */
export const acceptsEventStream = (accept: string | undefined): boolean =>
  (accept ?? '').split(',').some((range) => /^\s*text\/event-stream\s*(?:;(?!\s*q=0(?:\.0*)?\s*$).*)?$/i.test(range))
