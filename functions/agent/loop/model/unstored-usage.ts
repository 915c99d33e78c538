import { SUMMARY_AGENT, TITLE_AGENT } from '../../../domain/context.ts'
import type { AssistantMessage } from '../../../domain/messages/message.ts'
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
import type { HeldPhases } from '../run-state.ts'
import type { Thread } from '../thread.ts'

/**
 * Timeout for counting one completion. It limits how long the end of a run, or the shutdown of a process, waits for the count.
 */
const COUNT_MS = 2_000

interface UsageDependencies {
  readonly usage: Pick<UsageLedger, 'count'>
  readonly clock: Clock
  readonly logger: Logger
}

interface Unstored {
  readonly agent: string
  /** Full name of the model: `provider/model`. */
  readonly model: string
  readonly usage: Usage
}

/**
 * Counts a completion that no message holds, in the usage ledger and for budgets. Otherwise a caller could avoid being
 * charged by cancelling in time. The totals of runs and sessions contain only stored completions. If the count fails,
 * the failure is logged and the work continues.
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

/** Counts a completion of a run's thread that no message holds. */
export const countUnstoredOf = (
  state: HeldPhases,
  { agent }: Thread,
  completion: Pick<Unstored, 'model' | 'usage'>,
): Promise<void> => countUnstored(state.ports, state.writer.key, state.account, { agent: agent.name, ...completion })

/**
 * Stores a completion by `write`. If that fails, counts the completion, unless the log holds its message after all. A holder may
 * learn that it lost the lease before it learns that its write succeeded. If an outage hides the message, the completion may be
 * counted twice. `write` calls `begins` with the id of the message before it sends the message to the store.
 */
export async function countUnlessStored<Result>(
  state: HeldPhases,
  thread: Thread,
  { model, usage }: Pick<AssistantMessage, 'model' | 'usage'>,
  write: (begins: (id: string) => void) => Promise<Result>,
): Promise<Result> {
  let begun: string | undefined
  try {
    return await write((id) => (begun = id))
  } catch (error) {
    const isUnstored = begun === undefined || !(await isStored(state, begun))
    if (isUnstored && usage !== undefined) await countUnstoredOf(state, thread, { model: model ?? '', usage })
    throw error
  }
}

async function isStored({ writer, ports }: HeldPhases, id: string): Promise<boolean> {
  try {
    return await writer.holds(id)
  } catch (error) {
    ports.logger.warn('whether a completion was stored is not known', { ...writer.key, error: String(error) })
    return false
  }
}

/** Counts the completions that made summaries of a session. */
export const countSummaries =
  (dependencies: UsageDependencies, key: SessionKey, account: UsageAccount) =>
  (usage: Usage, model: string): Promise<void> =>
    countUnstored(dependencies, key, account, { agent: SUMMARY_AGENT, model, usage })

/** Counts the completions that made titles of a session. */
export const countTitles =
  (dependencies: UsageDependencies, key: SessionKey, account: UsageAccount) =>
  (usage: Usage, model: string): Promise<void> =>
    countUnstored(dependencies, key, account, { agent: TITLE_AGENT, model, usage })

/**
 * Estimates the usage of a completion that was cut off before its provider reported it: the whole request as uncached
 * input, and the output that arrived.
 */
export function estimatedUsage(requestTokens: number, output: string): Usage {
  const [inputTokens, outputTokens] = [Math.ceil(requestTokens), Math.ceil(weighText(output))]
  return { ...NO_USAGE, inputTokens, outputTokens, totalTokens: inputTokens + outputTokens }
}
