import { sha256 } from '../../domain/hash.ts'
import type { Session, SessionKey } from '../../domain/session.ts'
import type { Logger } from '../../ports/logger.ts'
import { appendClosed } from './append-closed.ts'
import { closedLog } from './closed-log.ts'
import type { AppendDependencies } from './import-step.ts'

/**
 * Copies a log with its outputs, up to and including `through`, into a new session. Returns how many messages this call
 * copied.
 */
export async function copyLog(
  dependencies: AppendDependencies & { readonly logger: Pick<Logger, 'warn'> },
  from: SessionKey,
  through: string,
  to: Session,
): Promise<number> {
  const bodyHash = sha256(`${from.session}\n${through}`)
  const name = { keyHash: 'fork', bodyHash, forGood: true }
  const { messages } = await appendClosed(dependencies, to, closedLog(dependencies, from, through), {
    name,
    isCopy: true,
  })
  return messages
}
