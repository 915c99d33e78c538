import { sha256 } from '../../../domain/hash.ts'
import { countedFor, type Caps } from '../../../access/rates.ts'
import type { AgentService, IncomingPart } from '../../../agent/service/agent-service.ts'
import type { Session } from '../../../domain/session.ts'
import type { SlackMessage } from './event.ts'
import { userOf } from './thread.ts'

/** The kind of deliveries that are replies. */
export const REPLY_KIND = 'slack'

export interface SubmitMessageDependencies {
  readonly service: Pick<AgentService, 'submit'>
  /** The operator's limits. Only the tenant's budget applies to messages. */
  readonly caps: Caps
  /** Whether this process executes the run. */
  readonly here: boolean
}

/**
 * Submits a message as an input. The message's own name is the idempotency key. Rejects with `tenant_budget_used_up` if
 * the tenant's daily budget is used up.
 */
export async function submitMessage(
  { service, caps, here }: SubmitMessageDependencies,
  session: Session,
  message: SlackMessage,
  parts: readonly IncomingPart[],
): Promise<void> {
  const { team, channel, thread, ts, user } = message
  const name = sha256(`slack ${team} ${channel} ${ts}`)
  const submission = {
    parts,
    user: userOf(message, user),
    metadata: { slack_ts: ts, slack_user: user },
    clientTools: [],
    onBusy: 'queue',
    delivery: { kind: REPLY_KIND, target: { team, channel, thread, ts, user } },
    // The name's hash also serves as the body's hash, because Slack delivers a mention twice, with different bodies.
    idempotency: { keyHash: name, bodyHash: name },
    ...countedFor(session, caps),
  } as const
  await service.submit(session, submission, { here })
}
