import { setTimeout as sleep } from 'node:timers/promises'

/** Maximum number of repeats of a request. On a busy machine, a store responds late for some time. */
const MAX_REPEATS = 20

/**
 * Repeats a request while the program responds that its store does not respond (503 with `Retry-After`), as clients should.
 * Returns every other response unchanged.
 */
export async function whileUnavailable<Sent extends { readonly status: number; readonly headers: Headers }>(
  request: () => Promise<Sent>,
): Promise<Sent> {
  for (let repeats = 0; ; repeats++) {
    const sent = await request()
    const wait = sent.headers.get('retry-after')
    if (sent.status !== 503 || wait === null || repeats === MAX_REPEATS) return sent
    await sleep(Number(wait) * 1_000)
  }
}
