import { definedFields } from '../../functions/domain/defined-fields.ts'
import { latestId, nextId, nextIds } from '../../functions/domain/ids.ts'
import type { UserMessage } from '../../functions/domain/messages/message.ts'
import { NO_USAGE } from '../../functions/domain/usage/usage.ts'
import { header, type SessionFixture } from './session-fixture.ts'

/** An imported input; `parent`: the delegate call whose member gets this input as its task. */
export interface ImportedInput {
  readonly text: string
  readonly parent?: string
  readonly createdAt?: number
}

/** Appends these inputs to an idle session, as one turn that was executed elsewhere. */
export async function importInputs(fixture: SessionFixture, inputs: readonly ImportedInput[]): Promise<void> {
  const seen = await header(fixture)
  const now = fixture.clock.now()
  const run = nextId(latestId([seen.tail, seen.head]), now)
  const ids = nextIds(latestId([seen.head, run]), now, inputs.length)
  const messages = inputs.map(({ text, parent, createdAt = now }, place): UserMessage => ({
    ...{ id: ids[place] ?? '', runId: run, agent: 'helper', role: 'user', round: 0, recordedAt: now, createdAt },
    ...definedFields({ parentToolCallId: parent }),
    parts: [{ type: 'text', text }],
  }))
  const ended = { status: 'completed', stopReason: 'imported', startedAt: now, endedAt: now } as const
  const base = { id: run, agent: 'helper', trigger: 'input', onBusy: 'queue', clientTools: [], createdAt: now } as const
  const stored = { ...base, ...ended, rounds: 0, usage: NO_USAGE, usageByAgent: {} }
  const after = await fixture.imports.append(seen, { messages, runs: [{ run: stored, isNew: true }] })
  if (after === undefined) throw new Error('the session was not idle')
}
