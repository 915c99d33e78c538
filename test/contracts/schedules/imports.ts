import fc from 'fast-check'
import { latestId, nextId, nextIds } from '../../../functions/domain/ids.ts'
import type { ImportStep } from '../../../functions/domain/messages/imported.ts'
import type { Message } from '../../../functions/domain/messages/message.ts'
import type { Run } from '../../../functions/domain/runs/run.ts'
import type { SessionHeader } from '../../../functions/domain/session.ts'
import { NO_USAGE } from '../../../functions/domain/usage/usage.ts'
import type { Kind } from './exploration.ts'
import { portsOf } from './harness.ts'
import type { Harness } from './harness.ts'
import type { Process } from './processes.ts'
import { runSchedule, SESSION_SCHEDULES, type Schedule } from './schedule.ts'

interface WithImports {
  readonly session: Schedule
  /** For each imported turn: milliseconds by which the importing process's clock is ahead. */
  readonly imports: readonly number[]
}

/** Generates schedules of one session with imported turns. */
export const IMPORT_SCHEDULES: Kind<WithImports> = {
  schedules: (steps) =>
    fc.record({
      session: SESSION_SCHEDULES.schedules(steps),
      imports: fc.array(fc.constantFrom(0, 0, 20_000, 3_600_000), { minLength: 1, maxLength: 4, size: 'max' }),
    }),
  run: (stores, processes, { session, imports }) =>
    runSchedule(stores, processes, session, (harness) => {
      for (const name of ['importer', 'importer 2'])
        processes.spawn(name, (process) => bring(harness, process, imports))
    }),
}

/**
 * Imports turns one after the other. Each import waits until the session is idle; it is skipped if
 * another process starts a run first.
 */
async function bring(harness: Harness, process: Process, imports: readonly number[]): Promise<void> {
  const ports = portsOf(harness, process.name)
  const isIdle = (header: SessionHeader | undefined): boolean =>
    header?.status === 'live' && header.lease === undefined && header.activeRun === undefined && header.queued === 0
  for (const [turn, ahead] of imports.entries()) {
    await process.at('wait until nobody works on the session', () => isIdle(harness.seen.header))
    const seen = await ports.lease.readHeader(harness.key)
    if (seen === undefined || !isIdle(seen)) continue
    const step = turnAfter(seen, harness.stores.clock.now() + ahead)
    await process.write({ name: `import ${turn}` }, () => ports.imports.append(seen, step))
  }
}

/** A turn of two messages that follow the last message read. */
function turnAfter({ tail, head }: SessionHeader, now: number): ImportStep {
  const run: Run = {
    id: nextId(latestId([tail, head]), now),
    ...({ agent: 'helper', status: 'completed', trigger: 'input', onBusy: 'queue', clientTools: [] } as const),
    ...{ createdAt: now, startedAt: now, endedAt: now, rounds: 1, usage: NO_USAGE, usageByAgent: {} },
    stopReason: 'imported',
  }
  const [asked = '', answered = ''] = nextIds(run.id, now, 2)
  const base = { runId: run.id, agent: 'helper', round: 0, createdAt: now, recordedAt: now }
  const messages: readonly Message[] = [
    { ...base, id: asked, role: 'user', parts: [{ type: 'text', text: 'said elsewhere' }] },
    { ...base, id: answered, role: 'assistant', parts: [{ type: 'text', text: 'answered' }], toolCalls: [] },
  ]
  return { messages, runs: [{ run, isNew: true }] }
}
