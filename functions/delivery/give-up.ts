import type { Delivery } from '../domain/delivery.ts'
import type { Logger } from '../ports/logger.ts'
import type { Outbox } from '../ports/outbox.ts'
import type { Channel } from './channel.ts'

export interface GivingUp {
  readonly outbox: Pick<Outbox, 'change'>
  readonly channels: ReadonlyMap<string, Channel>
  readonly logger: Logger
  /** Called for each delivery that has failed permanently. */
  readonly noteFailure?: (delivery: Delivery) => void
}

/** Fails a delivery permanently, unless it has changed since it was read. */
export async function giveUp(
  { outbox, channels, logger, noteFailure }: GivingUp,
  seen: Delivery,
  reason: string,
): Promise<void> {
  const { tenant, session, id, kind } = seen
  const state = channels.get(kind)?.givenUp?.(seen, reason) ?? seen.state
  const over = { status: 'failed', state, owner: null, due: null, hinted: null, begun: null } as const
  const failed = await outbox.change(seen, over)
  if (failed === undefined) return
  logger.error('a delivery has failed', new Error(reason), { tenant, session, delivery: id, kind })
  noteFailure?.(failed)
}
