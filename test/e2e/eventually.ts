import { setTimeout as sleep } from 'node:timers/promises'

const BETWEEN_MS = 250

/** Answers what `check` answers as soon as it does not reject; after `milliseconds` its rejection counts. */
export async function eventually<Answer>(milliseconds: number, check: () => Promise<Answer>): Promise<Answer> {
  const deadline = Date.now() + milliseconds
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (Date.now() >= deadline) throw error
    }
    await sleep(BETWEEN_MS)
  }
}
