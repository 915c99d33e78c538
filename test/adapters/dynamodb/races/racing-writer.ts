import { tmpdir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { createDiskOutputStore } from '../../../../functions/adapters/disk/output-store.ts'
import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import { nextIds } from '../../../../functions/domain/ids.ts'
import { isFree } from '../../../../functions/domain/session.ts'
import type { Lease, SessionKey } from '../../../../functions/domain/session.ts'
import { NO_USAGE } from '../../../../functions/domain/usage/usage.ts'
import type { Round } from '../../../../functions/ports/run-log.ts'
import { dynamodbClient } from '../../../engines/clients.ts'
import { dynamodbPorts } from '../engine.ts'

/** A writer's report, one per line: the writer stored this round, or another process was first. */
export type Report = { readonly stored: string; readonly generation: number } | { readonly lost: 'take' | 'write' }

/**
 * One of several processes that compete for a session until their standard input ends. In each attempt, the writer takes the
 * run, stores a round with a call, and releases the run. Then it writes once more with the released lease.
 */
const [endpoint = '', tableName = '', tenant = '', session = '', name = ''] = process.argv.slice(2)
const key: SessionKey = { tenant, session }
const clock = createSystemClock()
const client = dynamodbClient(endpoint)
// Every value of this writer fits into a row, so no output is stored in this folder.
const outputs = createDiskOutputStore({ folder: tmpdir() })
const { lease: leases, log } = dynamodbPorts({ client, tableName, clock, outputs })
const report = (reported: Report): void => void process.stdout.write(`${JSON.stringify(reported)}\n`)

let ended = false
process.stdin.resume().once('end', () => (ended = true))
while (!ended) await compete()
client.destroy()

async function compete(): Promise<void> {
  const seen = await leases.readHeader(key)
  if (seen === undefined || !isFree(seen, clock.now())) return sleep(Math.random() * 20)
  const taken = await leases.take(seen, crypto.randomUUID())
  if (taken === undefined) return report({ lost: 'take' })
  const { lease } = await leases.claim(taken)
  const round = roundOf(lease)
  await log.appendRound(lease, round)
  report({ stored: round.assistant.id, generation: lease.generation })
  const [call] = round.tools
  if (call === undefined) return
  const result = { parts: [{ type: 'text', text: name }], completedAt: clock.now(), durationMs: 1 } as const
  await log.completeCall(lease, { messageId: call.id, status: 'completed', ...result })
  await leases.release(lease)
  const late = await log.appendRound(lease, roundOf({ ...lease, head: call.id })).catch((error: unknown) => error)
  if (!(late instanceof Error && 'code' in late && late.code === 'lease_lost'))
    throw new Error(`${name} wrote without a lease`, { cause: late })
  report({ lost: 'write' })
}

function roundOf({ head, runId, generation }: Lease): Round {
  const createdAt = clock.now()
  const [id = '', toolId = ''] = nextIds(head, createdAt, 2)
  const base = { runId, agent: 'helper', round: generation, createdAt }
  const call = { id: `call-${id}`, name: 'write', arguments: '{}' }
  const completed = { model: 'demo/demo', finishReason: 'tool-calls', usage: NO_USAGE } as const
  const asked = { assistantMessageId: id, toolCallId: call.id, toolName: 'write', call: `write(by="${name}")` }
  return {
    assistant: {
      ...base,
      ...completed,
      id,
      role: 'assistant',
      parts: [{ type: 'tool_call', id: call.id }],
      toolCalls: [call],
    },
    tools: [{ ...base, ...asked, id: toolId, role: 'tool', sequence: 0, status: 'running', parts: [], generation }],
  }
}
