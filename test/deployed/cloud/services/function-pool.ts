import { setTimeout as sleep } from 'node:timers/promises'
import { startLambdaProcess } from './lambda-process.ts'
import type { LambdaFunction, LambdaProcess } from './lambda-process.ts'
import type { RecordedCall, Service } from '../recorded-call.ts'
import { startRecording } from '../recorder.ts'
import type { Trouble } from '../recorder.ts'
import { QUEUE_ORIGIN, SEARCH_ORIGIN } from '../template/resource-names.ts'
import type { Outcome, ResponseSink } from './runtime-api.ts'

/** Time within which a process requests its next event after a response, in milliseconds. */
const SETTLE_MS = 100

/** A deployed function, with one process per concurrent invocation. */
export interface FunctionPool {
  readonly settings: LambdaFunction
  /** Every permission that the function's calls have needed. */
  readonly calls: readonly RecordedCall[]
  /** Events of its invocations, in order. */
  readonly events: readonly unknown[]
  /** The pids of processes with an active invocation. */
  busy(): readonly number[]
  invoke(event: unknown, sink?: ResponseSink): Promise<Outcome>
  kill(pid: number): Promise<void>
  /** Ends every process; later invocations start cold. */
  recycle(): Promise<void>
  /** Sets the fault of the function's later calls. */
  disturb(trouble: Trouble): void
  log(): string
  /** Peak memory of any process of the function, in MB. */
  peakMb(): number
  /** Calls in flight at the end of an invocation: work that a handler did not await. */
  readonly leftBehind: readonly RecordedCall[]
  /** Outcomes of its failed invocations. */
  readonly failures: readonly Extract<Outcome, { ok: false }>[]
}

interface Member {
  readonly process: LambdaProcess
  readonly stop: () => Promise<void>
}

export interface Surroundings {
  /** Lambda's runtime client: a `file:` URL. */
  readonly client: string
  readonly engines: { readonly [service in Service]: string }
  /** The name of the search collection, or the ARN of the domain. */
  readonly search: string
}

/** Runs a function as Lambda does. */
export function createFunctionPool(settings: LambdaFunction, { client, engines, search }: Surroundings): FunctionPool {
  const members: Member[] = []
  const log: string[] = []
  const calls: RecordedCall[] = []
  const events: unknown[] = []
  const failures: Extract<Outcome, { ok: false }>[] = []
  let peakMb = 0
  const leftBehind: RecordedCall[] = []
  let trouble: Trouble = () => undefined

  async function start(): Promise<Member> {
    const recording = await startRecording(
      engines,
      (call) => void calls.push(call),
      (service, request) => trouble(service, request),
      search,
    )
    const process = await startLambdaProcess(settings, {
      client,
      environment: engineVariables(settings.environment, recording.endpoints),
      log,
      frozen: () => void leftBehind.push(...recording.inFlight()),
      peakMb: (used) => void (peakMb = Math.max(peakMb, used)),
    })
    const member = { process, stop: recording.stop }
    members.push(member)
    return member
  }

  const takeIdle = (): LambdaProcess | undefined => members.find(({ process }) => process.isIdle())?.process

  async function end(member: Member): Promise<void> {
    members.splice(members.indexOf(member), 1)
    await member.process.kill()
    await member.stop()
  }

  return {
    settings,
    calls,
    failures,
    events,
    busy: () => members.flatMap(({ process }) => (process.isIdle() || process.hasEnded() ? [] : [process.pid])),
    async invoke(event, sink) {
      events.push(event)
      if (takeIdle() === undefined && members.length > 0) await sleep(SETTLE_MS)
      const outcome = await (takeIdle() ?? (await start()).process).invoke(event, sink)
      for (const member of members.filter(({ process }) => process.hasEnded())) await end(member)
      if (!outcome.ok) failures.push(outcome)
      return outcome
    },
    async kill(pid) {
      const member = members.find(({ process }) => process.pid === pid)
      if (member !== undefined) await end(member)
    },
    async recycle() {
      await Promise.all([...members].map(end))
    },
    disturb: (next) => void (trouble = next),
    log: () => log.join(''),
    peakMb: () => peakMb,
    leftBehind,
  }
}

/**
 * Environment variables of a function. The engines' addresses replace those of AWS; everything else is from the template.
 */
function engineVariables(
  environment: LambdaFunction['environment'],
  endpoints: { readonly [service in Service]: string },
): Record<string, string> {
  const replaced = Object.entries(environment).map(([name, value]): [string, string] => [
    name,
    value.replaceAll(QUEUE_ORIGIN, endpoints.sqs).replaceAll(SEARCH_ORIGIN, endpoints.opensearch),
  ])
  return {
    ...Object.fromEntries(replaced),
    AWS_ENDPOINT_URL_DYNAMODB: endpoints.dynamodb,
    AWS_ENDPOINT_URL_S3: endpoints.s3,
    AWS_ENDPOINT_URL_SQS: endpoints.sqs,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: endpoints.secretsmanager,
  }
}
