import { setTimeout as sleep } from 'node:timers/promises'
import type { ClosedMessage } from '../../functions/domain/messages/closed-message.ts'
import type { Message } from '../../functions/domain/messages/message.ts'
import type { World } from './world.ts'

/** The run of each accepted input, by the input's text. */
export type Accepted = Map<string, string>

const CLIENT_TOOL = { name: 'ask', description: 'ask', parameters: { type: 'object' } }
const HERE = { here: true }
/** Maximum number of processes, including dead ones. */
const MAX_PROCESSES = 6
const HAND_OFF_MS = 500

type Waiting = Extract<Message, { readonly role: 'tool' }>

export const waitingCalls = (log: readonly Message[]): Waiting[] =>
  log.filter((message): message is Waiting => message.role === 'tool' && message.status === 'waiting')

async function submit({ dice, harness, living, attempt }: World, accepted: Accepted, text: string): Promise<void> {
  const onBusy = dice.pick(['queue', 'queue', 'steer', 'reject'] as const)
  const parts = [{ type: 'text', text }] as const
  const submission = { parts, clientTools: dice.chance(0.5) ? [CLIENT_TOOL] : [], onBusy }
  const { service } = dice.pick(living())
  const run = await attempt(`submit ${onBusy}`, () => service.submit(harness.session, submission, HERE))
  if (run !== undefined) accepted.set(text, run.runId)
}

async function cancel({ dice, harness, living, attempt, header }: World): Promise<void> {
  const { activeRun } = await header()
  if (activeRun !== undefined) await attempt('cancel', () => dice.pick(living()).service.cancel(harness.key, activeRun))
}

async function cancelAny({ dice, harness, living, attempt }: World, accepted: Accepted): Promise<void> {
  if (accepted.size === 0) return
  const runId = dice.pick([...accepted.values()])
  await attempt('cancel any', () => dice.pick(living()).service.cancel(harness.key, runId))
}

async function resolve({ dice, harness, living, attempt, log }: World): Promise<void> {
  const waiting = waitingCalls(await log())
  if (waiting.length === 0) return
  const { id: messageId, runId, needs } = dice.pick(waiting)
  const output = [{ type: 'text', text: 'answer' }] as const
  const resolution = needs === 'approval' ? { messageId, approve: dice.chance(0.7) } : { messageId, output }
  const { service } = dice.pick(living())
  await attempt(`resolve ${needs}`, () => service.resolve(harness.session, runId, [resolution], HERE))
}

async function importTurn({ dice, harness, living, attempt }: World, index: number): Promise<void> {
  const messages: readonly ClosedMessage[] = [
    { role: 'user', parts: [{ type: 'text', text: `imported ${index}` }] },
    { role: 'assistant', parts: [{ type: 'text', text: `old answer ${index}` }], toolCalls: [] },
  ]
  const name = { keyHash: `k${index}`, bodyHash: 'b', forGood: false }
  await attempt('import', () => dice.pick(living()).service.importMessages(harness.session, messages, { name }))
}

async function handOff({ dice, living, count }: World): Promise<void> {
  const { worker } = dice.pick(living())
  count('hand-off')
  const done = worker.handOff()
  await sleep(5)
  await Promise.race([done, sleep(HAND_OFF_MS)])
  worker.resume()
}

export async function serve({ harness, living, attempt }: World): Promise<void> {
  await Promise.all(living().map(({ worker }) => attempt('serve', () => worker.serve(harness.key))))
}

function crash(world: World): void {
  if (world.living().length >= MAX_PROCESSES) return
  world.crash()
  world.count('crash')
  world.spawn()
  if (world.living().length < 2) world.spawn()
}

/** Executes one random operation. */
export async function operate(world: World, accepted: Accepted, index: number): Promise<void> {
  const { dice, harness, living, attempt } = world
  const roll = dice.number()
  if (roll < 0.35) return submit(world, accepted, `input ${index}`)
  if (roll < 0.42) return cancel(world)
  if (roll < 0.46) return cancelAny(world, accepted)
  if (roll < 0.7) return resolve(world)
  const { service } = dice.pick(living())
  if (roll < 0.76) return void (await attempt('continue', () => service.continue(harness.session, {}, HERE)))
  if (roll < 0.8) return void (await attempt('consolidate', () => service.consolidate(harness.session, {})))
  if (roll < 0.84) return importTurn(world, index)
  if (roll < 0.9) return serve(world)
  if (roll < 0.93) return crash(world)
  if (roll < 0.96) return handOff(world)
  await sleep(30)
}
