import type { ToolMessage } from '../../../functions/domain/messages/message.ts'
import type { Process } from './processes.ts'
import { codeOf } from './harness.ts'
import { storeRound, storeTask, threadsOf } from './threads.ts'
import type { Holding, Thread } from './threads.ts'

/** Starts the pending calls and the members of a thread. They run concurrently with the thread. */
export function launch(holding: Holding, process: Process, thread: Thread): void {
  const { todo } = thread
  thread.todo = []
  for (const call of todo)
    spawn(holding, process, thread, `${process.name}/${call.sequence}`, (part) => execute(holding, part, call))
  for (const member of thread.members.values())
    spawn(holding, process, thread, `${process.name}/m${member.of?.sequence ?? ''}`, (part) =>
      work(holding, part, thread, member),
    )
}

function spawn(
  holding: Holding,
  process: Process,
  thread: Thread,
  name: string,
  body: (part: Process) => Promise<void>,
): void {
  thread.running++
  holding.harness.processes.spawn(
    name,
    async (part) => {
      try {
        await body(part)
      } catch (error) {
        if (codeOf(error) !== 'lease_lost') throw error
        holding.over = true
      } finally {
        thread.running--
      }
    },
    process,
  )
}

async function execute(holding: Holding, part: Process, call: ToolMessage): Promise<void> {
  const { harness, ports, lease } = holding
  const { generation } = lease
  if (call.status === 'approved')
    await part.write({ name: 'begin', generation }, () => ports.log.beginApproved(lease, call.id))
  await part.at(`start ${call.toolName}`)
  if (holding.over) return
  harness.ghosts.starts.set(call.id, (harness.ghosts.starts.get(call.id) ?? 0) + 1)
  await complete(holding, part, call, 'completed')
}

async function complete(
  { harness, ports, lease }: Holding,
  part: Process,
  { id }: ToolMessage,
  status: 'completed' | 'error',
): Promise<void> {
  const parts = [{ type: 'text', text: `by ${part.name}` }] as const
  const result = { messageId: id, status, parts, completedAt: harness.stores.clock.now(), durationMs: 1 }
  const act = { name: 'complete', generation: lease.generation }
  await part.write(act, () => ports.log.completeCall(lease, result))
}

/** Runs a member until it ends, waits, or must stop. Its outcome is the result of its delegate call. */
async function work(holding: Holding, part: Process, leader: Thread, member: Thread): Promise<void> {
  const { rounds, fails } = member.plan
  if (!member.begun) await storeTask(holding, part, member)
  while (member.round <= rounds.length) {
    launch(holding, part, member)
    await part.at('wait for its calls', () => member.running === 0 || holding.over || holding.stopping)
    if (holding.over || holding.stopping) return
    if (await hasNews(holding, member)) continue
    if (member.waiting.length > 0 || member.members.size > 0 || isHandedOver(holding)) return
    await storeRound(holding, part, member, rounds[member.round] ?? [])
  }
  if (member.of !== undefined) await complete(holding, part, member.of, fails ? 'error' : 'completed')
  leader.members.delete(member.of?.id ?? '')
}

/** Whether the holder must hand off the run. The leader and the members check this between two rounds. */
export const isHandedOver = ({ harness }: Holding): boolean => harness.handOff && !harness.fair

/** Reads the waiting calls of a thread. Returns whether any was resolved. Approved calls are queued for execution. */
async function hasNews({ ports, harness }: Holding, thread: Thread): Promise<boolean> {
  const before = thread.waiting.length
  const rows = await Promise.all(thread.waiting.map((id) => ports.reader.message(harness.key, id)))
  const calls = rows.filter((row) => row?.role === 'tool')
  thread.waiting = calls.filter((row) => row.status === 'waiting').map((row) => row.id)
  thread.todo = [...thread.todo, ...calls.filter((row) => row.status === 'approved')]
  return thread.waiting.length < before
}

/** Reads the waiting calls of the leader and of all its members. Returns whether any was resolved. */
export async function haveNews(holding: Holding): Promise<boolean> {
  let news = false
  for (const thread of threadsOf(holding.leader)) if (await hasNews(holding, thread)) news = true
  return news
}
