import type { Message } from '../../../functions/domain/messages/message.ts'
import type { Usage } from '../../../functions/domain/usage/usage.ts'
import type { SessionPorts } from '../../../test/contracts/stores.ts'
import { must } from '../harness.ts'
import type { Watch } from './sessions.ts'

type Tokens = Pick<Usage, 'totalTokens'>

/** The agent name under which summaries are counted. */
const SUMMARIES = 'summary'
/** Range of days that contains every simulation. */
const DAYS = { from: '2026-01-01', to: '2026-02-28' } as const

const tokensOf = (usage: Tokens | undefined): number => usage?.totalTokens ?? 0

/** Returns the simulated usage of the completions among these messages. */
const usedBy = (messages: readonly Message[]): number =>
  messages.reduce(
    (sum, one) => sum + (one.role === 'assistant' && one.recordedAt === undefined ? tokensOf(one.usage) : 0),
    0,
  )

/**
 * Checks that the usage of each completion and summary is counted once: in its run, in its session and in the ledger.
 */
export async function checkUsage({ usage }: SessionPorts, { seen, key, unstored }: Watch): Promise<void> {
  const totals = seen.session?.totals
  if (totals === undefined) return
  for (const run of seen.runs) {
    const used = usedBy(seen.messages.filter(({ runId }) => runId === run.id))
    const counted = tokensOf(run.usage) - tokensOf(run.usageByAgent[SUMMARIES])
    must('a run counts its completions once', counted === used, `${run.id}: ${counted}, not ${used}`)
  }
  const all = tokensOf(totals.usage)
  const [counted, used] = [all - tokensOf(totals.byAgent[SUMMARIES]), usedBy(seen.messages)]
  must('a session counts its completions once', counted === used, `${key.session}: ${counted}, not ${used}`)
  const sums = await usage.sums({ tenant: key.tenant, ...DAYS, by: 'session' })
  const reported = sums.filter(({ group }) => group === key.session).reduce((sum, one) => sum + tokensOf(one.usage), 0)
  const expected = [...unstored].reduce((sum, one) => sum + tokensOf(one.usage), all)
  must(
    'the ledger counts what a session does, and what it did not store',
    reported === expected,
    `${key.session}: ${reported}, not ${expected}`,
  )
}
