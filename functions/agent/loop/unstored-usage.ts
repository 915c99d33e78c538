import { SUMMARY_AGENT } from '../../domain/context.ts'
import type { SessionKey } from '../../domain/session.ts'
import { withinTime } from '../../domain/time-limit.ts'
import { NO_USAGE } from '../../domain/usage.ts'
import type { Usage } from '../../domain/usage.ts'
import { dayOf } from '../../domain/usage-count.ts'
import type { UsageAccount } from '../../domain/usage-count.ts'
import { weighText } from '../../log/token-weight.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../../ports/logger.ts'
import type { UsageLedger } from '../../ports/usage-ledger.ts'
import { accountOf } from './run-state.ts'
import type { RunState } from './run-state.ts'
import type { Thread } from './thread.ts'

/** Milliseconds that the store has for it: how a run ends does not wait for longer. */
const COUNT_MS = 5_000

interface UsageDependencies {
  readonly usage: Pick<UsageLedger, 'count'>
  readonly clock: Clock
  readonly logger: Logger
}

interface Unstored {
  readonly agent: string
  /** `provider/model`. */
  readonly model: string
  readonly usage: Usage
}

/**
 * Counts a completion that no message holds, in the ledger and for budgets: otherwise, whoever cancels in time uses tokens that
 * nobody counts. Totals of runs and sessions hold what is stored alone. Where an outage hides whether a completion was stored, it may
 * count twice. Where the count cannot be stored, the log says so, and the work goes on.
 */
async function countUnstored(
  { usage: ledger, clock, logger }: UsageDependencies,
  key: SessionKey,
  account: UsageAccount,
  unstored: Unstored,
): Promise<void> {
  try {
    const completion = { day: dayOf(clock.now()), ...unstored }
    await withinTime(COUNT_MS, 'the store', () => ledger.count(key, completion, account))
  } catch (error) {
    const { tenant, session } = key
    const { totalTokens } = unstored.usage
    logger.error('a completion that was not stored was not counted', error, { tenant, session, totalTokens })
  }
}

/** The same for a completion of a run's thread. */
export const countUnstoredOf = (
  state: RunState,
  { agent }: Thread,
  completion: Pick<Unstored, 'model' | 'usage'>,
): Promise<void> => countUnstored(state.ports, state.held.lease, accountOf(state), { agent: agent.name, ...completion })

/** The same for what summaries of a session have taken. */
export const countSummaries =
  (dependencies: UsageDependencies, key: SessionKey, account: UsageAccount) =>
  (usage: Usage, model: string): Promise<void> =>
    countUnstored(dependencies, key, account, { agent: SUMMARY_AGENT, model, usage })

/**
 * What a completion has probably taken that was cut off before its provider said it: the request as if none of it was cached,
 * and the output that has come.
 */
export function estimatedUsage(requestTokens: number, output: string): Usage {
  const outputTokens = Math.ceil(weighText(output))
  return { ...NO_USAGE, inputTokens: requestTokens, outputTokens, totalTokens: requestTokens + outputTokens }
}
