import { SUMMARY_AGENT, TITLE_AGENT } from '../../../domain/context.ts'
import type { SessionKey } from '../../../domain/session.ts'
import { withinTime } from '../../../domain/time/time-limit.ts'
import { NO_USAGE } from '../../../domain/usage/usage.ts'
import type { Usage } from '../../../domain/usage/usage.ts'
import { dayOf } from '../../../domain/usage/usage-count.ts'
import type { UsageAccount } from '../../../domain/usage/usage-count.ts'
import { weighText } from '../../../log/request/token-weight.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Logger } from '../../../ports/logger.ts'
import type { UsageLedger } from '../../../ports/usage-ledger.ts'
import { accountOf } from '../run-state.ts'
import type { RunState } from '../run-state.ts'
import type { Thread } from '../thread.ts'

/** Milliseconds that the store has for it: how a run ends does not wait for longer, nor does a program that stops. */
const COUNT_MS = 2_000

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
 * nobody counts. Totals of runs and sessions hold what is stored alone. Where the count may not be stored, the log says so, and the
 * work goes on.
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
    logger.error('a completion that was not stored may not be counted', error, { tenant, session, totalTokens })
  }
}

/** The same for a completion of a run's thread. */
export const countUnstoredOf = (
  state: RunState,
  { agent }: Thread,
  completion: Pick<Unstored, 'model' | 'usage'>,
): Promise<void> => countUnstored(state.ports, state.held.lease, accountOf(state), { agent: agent.name, ...completion })

/**
 * The same for one that could not be stored as `thread.storing`, unless the log holds it all the same: who ends a run may hear first
 * that the lease is no longer its own. Where an outage hides that, it may count twice.
 */
export async function countUnlessStored(
  state: RunState,
  thread: Thread,
  completion: Pick<Unstored, 'model' | 'usage'>,
): Promise<void> {
  const { storing } = thread
  if (storing !== undefined && (await isStored(state, storing))) return
  await countUnstoredOf(state, thread, completion)
}

async function isStored({ store, held, ports }: RunState, id: string): Promise<boolean> {
  try {
    return await withinTime(COUNT_MS, 'the store', () => store.holds(held.lease, id))
  } catch (error) {
    const { tenant, session } = held.lease
    ports.logger.warn('whether a completion was stored is not known', { tenant, session, error: String(error) })
    return false
  }
}

/** The same for what summaries of a session have taken. */
export const countSummaries =
  (dependencies: UsageDependencies, key: SessionKey, account: UsageAccount) =>
  (usage: Usage, model: string): Promise<void> =>
    countUnstored(dependencies, key, account, { agent: SUMMARY_AGENT, model, usage })

/** The same for what titles of a session have taken. */
export const countTitles =
  (dependencies: UsageDependencies, key: SessionKey, account: UsageAccount) =>
  (usage: Usage, model: string): Promise<void> =>
    countUnstored(dependencies, key, account, { agent: TITLE_AGENT, model, usage })

/**
 * What a completion has probably taken that was cut off before its provider said it: the request as if none of it was cached,
 * and the output that has come.
 */
export function estimatedUsage(requestTokens: number, output: string): Usage {
  const [inputTokens, outputTokens] = [Math.ceil(requestTokens), Math.ceil(weighText(output))]
  return { ...NO_USAGE, inputTokens, outputTokens, totalTokens: inputTokens + outputTokens }
}
