import type { Delivery } from '../domain/delivery.ts'
import type { SessionKey } from '../domain/session.ts'
import type { Clock } from '../ports/clock.ts'
import type { Outbox } from '../ports/outbox.ts'

/**
 * Number of pending deliveries in one page, and in all pages. Several pages are read, because many deliveries that wait
 * for a retry may precede the due ones.
 */
const PAGE = 100
const MAX_DELIVERIES_READ = 2_000

/** Yields the due or hinted deliveries of a session, oldest first. */
export async function* dueOf(
  { outbox, clock }: { readonly outbox: Pick<Outbox, 'pending'>; readonly clock: Clock },
  key: SessionKey,
): AsyncGenerator<Delivery, void, undefined> {
  let after: string | undefined
  for (let read = 0; read < MAX_DELIVERIES_READ; read += PAGE) {
    const page = await outbox.pending(key, PAGE, after)
    yield* page.filter(({ hinted, due = 0 }) => hinted === true || due <= clock.now())
    if (page.length < PAGE) return
    after = page.at(-1)?.id
  }
}
