import { setTimeout as sleep } from 'node:timers/promises'
import { TooltrailError } from '../../functions/domain/errors.ts'
import type { Message } from '../../functions/domain/messages/message.ts'
import type { SessionHeader } from '../../functions/domain/session.ts'
import type { Clock } from '../../functions/ports/clock.ts'
import type { Tool } from '../../functions/ports/tool.ts'
import type { Ports } from '../../functions/runtime/program.ts'
import { createTestTable, dynamodbPorts } from '../../test/adapters/dynamodb/engine.ts'
import { makeTool, openHarness } from '../../test/agent/harness.ts'
import type { Harness } from '../../test/agent/harness.ts'
import { dynamodbClient } from '../../test/engines/clients.ts'
import { createDice } from '../dice.ts'
import type { Dice } from '../dice.ts'
import { createRandomModel } from './model.ts'

export interface Settings {
  readonly seed: number
  readonly operations: number
  /** Factor by which the clock is faster than real time, so that leases expire during a test. */
  readonly speed: number
  /** DynamoDB's endpoint. Undefined for SQLite. */
  readonly dynamodb: string | undefined
}

type Process = Omit<Harness, 'another' | 'rebuildHistory' | 'close'>

/** Several processes on one store, a random model, and the problems found so far. */
export interface World {
  readonly dice: Dice
  readonly harness: Harness
  readonly problems: string[]
  /** Counts of outcomes, for `--verbose`. */
  readonly tally: Map<string, number>
  report(problem: string): void
  count(outcome: string): void
  spawn(): void
  /** Kills a random process: its pending calls to the store never return. */
  crash(): void
  living(): readonly Process[]
  /**
   * Probability that a call to the store fails before its execution. With equal probability, it fails after its
   * execution.
   */
  failing: number
  /** Executes an operation and counts its outcome. Returns undefined if it failed. */
  attempt<Result>(name: string, operation: () => Promise<Result>): Promise<Result | undefined>
  header(): Promise<SessionHeader>
  log(): Promise<readonly Message[]>
}

const OPERATION_MS = 4_000
const READ_ATTEMPTS = 20

export async function openWorld({ seed, speed, dynamodb }: Settings): Promise<World> {
  const dice = createDice(seed)
  const problems: string[] = []
  const tally = new Map<string, number>()
  const count = (outcome: string): void => void tally.set(outcome, (tally.get(outcome) ?? 0) + 1)
  const report = (problem: string): void => {
    if (problems.includes(problem)) return
    problems.push(problem)
    console.log(`PROBLEM ${problem}`)
  }
  const script = createRandomModel(dice, report)
  const clock = fastClock(speed)
  const processes: { readonly id: number; readonly process: Process }[] = []
  const dead = new Set<number>()
  const state = { failing: 0 }
  const store = await openStore(dynamodb, clock)
  let opened = 0
  /** Adds faults to the ports of a process. The first process only reads, so its calls never fail. */
  function change(local: Ports): Ports {
    const id = opened++
    const ports = store(local)
    const wrap = <Port extends object>(port: Port): Port =>
      id === 0 ? port : withFaults(port, { dice, isDead: () => dead.has(id), failing: () => state.failing })
    return { ...ports, log: wrap(ports.log), lease: wrap(ports.lease), reader: wrap(ports.reader) }
  }
  const team = {
    helper: { script: script('helper'), members: ['deep'], policies: { maxRounds: 4 } },
    deep: { script: script('deep'), policies: { maxRounds: 3 } },
  }
  const harness = await openHarness({
    ...{ script: script('leader'), team, change, clock, tools: randomTools(dice, report) },
    policies: {
      consolidation: { threshold: 12, keepRecentRatio: 0.2 },
      maxRounds: 6,
      sources: dice.chance(0.5) ? 'cited' : 'keep',
      maxRunTokens: dice.chance(0.3) ? 120 : null,
    },
  })
  if (dynamodb !== undefined) await harness.ports.sessions.create({ ...harness.key, agent: 'default', metadata: {} })
  const living = (): readonly Process[] => processes.filter(({ id }) => !dead.has(id)).map(({ process }) => process)
  return {
    ...{ dice, harness, problems, tally, report, count, living },
    get failing() {
      return state.failing
    },
    set failing(probability) {
      state.failing = probability
    },
    spawn: () => void processes.push({ id: opened, process: harness.another(script('leader'), team) }),
    crash: () => void dead.add(dice.pick(processes.filter(({ id }) => !dead.has(id))).id),
    async attempt(name, operation) {
      try {
        const late = sleep(OPERATION_MS).then(() => Promise.reject(new Error('took too long')))
        const result = await Promise.race([operation(), late])
        count(`${name} ok`)
        return result
      } catch (error) {
        count(`${name} ${error instanceof TooltrailError ? error.code : (error as Error).message.slice(0, 60)}`)
        return undefined
      }
    },
    header: () =>
      again(async () => {
        const header = await harness.ports.lease.readHeader(harness.key)
        if (header === undefined) throw new Error('the session is gone')
        return header
      }),
    log: () => again(() => harness.log()),
  }
}

async function again<Result>(read: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await read()
    } catch (error) {
      if (attempt > READ_ATTEMPTS) throw error
    }
  }
}

function fastClock(speed: number): Clock {
  const start = Date.now()
  return {
    now: () => Math.floor(start + performance.now() * speed),
    sleep: (milliseconds, signal) =>
      sleep(milliseconds / speed, undefined, signal === undefined ? {} : { signal }).catch(() => {
        throw signal?.reason
      }),
  }
}

async function openStore(endpoint: string | undefined, clock: Clock): Promise<(local: Ports) => Ports> {
  if (endpoint === undefined) return (local) => local
  const client = dynamodbClient(endpoint)
  const tableName = await createTestTable(client)
  return (local) => ({ ...local, ...dynamodbPorts({ client, tableName, outputs: local.outputs, clock }) })
}

interface Faults {
  readonly dice: Dice
  readonly isDead: () => boolean
  readonly failing: () => number
}

function withFaults<Port extends object>(port: Port, { dice, isDead, failing }: Faults): Port {
  const forEver = (): Promise<never> => Promise.withResolvers<never>().promise
  const failed = (when: string): TooltrailError =>
    new TooltrailError('storage_failed', `injected ${when} the call`, { retryable: true })
  return new Proxy(port, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name)
      if (typeof method !== 'function') return method
      return async (...args: unknown[]): Promise<unknown> => {
        if (isDead()) return forEver()
        const roll = dice.number()
        if (roll < failing()) throw failed('before')
        const result: unknown = await Reflect.apply(method, target, args)
        if (isDead()) return forEver()
        if (roll < 2 * failing()) throw failed('after')
        return result
      }
    },
  })
}

function randomTools(dice: Dice, report: (problem: string) => void): Tool[] {
  const executed = new Set<string>()
  const tool = (name: string, more: Partial<Tool> = {}): Tool =>
    makeTool(
      name,
      async (input) => {
        const { n } = input as { readonly n: number }
        const call = `${name}:${n}`
        if (executed.has(call) && more.idempotent !== true) report(`a call was executed twice: ${call}`)
        executed.add(call)
        await sleep(dice.number() * 6)
        if (dice.chance(0.1)) throw new Error('the tool failed')
        const sources = dice.chance(0.3) ? { sources: [{ title: `T${n}`, url: 'https://e.x' }] } : {}
        return { text: `result of ${n}`, ...sources }
      },
      more,
    )
  return [tool('echo'), tool('repeat', { idempotent: true }), tool('danger', { needsApproval: true })]
}
