import { Validator } from '@cfworker/json-schema'
import type { Schema } from '@cfworker/json-schema'
import { setTimeout as sleep } from 'node:timers/promises'
import { runInNewContext } from 'node:vm'
import type { Json, JsonObject } from '../../../domain/json.ts'
import type { Run } from '../../../domain/runs/run.ts'
import { raceAbort } from '../../../domain/time/time-limit.ts'
import { checkableSchema } from '../../../log/json/checkable-schema.ts'
import { withPlainNumbers } from '../../../log/json/exact-json.ts'
import type { Tool } from '../../../ports/tool.ts'
import { parseArguments } from './tool-call.ts'

/** Timeout of one check. A pattern of a schema may take practically forever on some texts. */
const CHECK_MS = 250
/** Maximum number of timed-out checks of a run. After that, no check of the run is started. */
const MAX_TIMEOUTS = 4
/** The wait between two checks of one tenant, as a multiple of the first check's duration. */
const REST = 3
/** Minimum duration of a check, in milliseconds, that causes a wait. */
const SHORT_MS = 10
/** Maximum number of retries of a check that timed out with less than `SHORT_MS` of CPU time, because the machine was busy. */
const MAX_STALLS = 2
const MAX_FAULTS = 10

/** Number of timed-out checks of each run in this process. */
const tooLong = new WeakMap<Run, number>()
/** For each tenant, a promise that resolves after its last check and the wait that follows. It never rejects. */
const turns = new Map<string, Promise<void>>()

/** The declaration of a tool whose arguments are checked against its schema here. */
type Declared = Pick<Tool, 'name' | 'parameters'>

/** The run whose call or answer is checked. If `signal` aborts, a queued check is skipped. */
export interface Checking {
  readonly run: Run
  readonly tenant: string
  readonly signal: AbortSignal
}

/**
 * The outcome of a check. `fault` is the text for the model about arguments that do not fit. `unchecked`: there was no
 * time for the check. `unreadable`: the schema cannot be read in full, and the arguments fit its readable part.
 */
export type Checked = { readonly fault?: string } | Exclude<Faults, readonly string[]>

/** The faults of a value, or why there is no full check. `unreadable`: the value fits the readable part of the schema. */
type Faults = readonly string[] | 'unchecked' | 'unreadable'

/**
 * Checks the arguments of a call against the schema of its tool. Whatever the schema and arguments, the time of a run's
 * checks is bounded. The checks of one tenant run one after the other.
 */
export async function checkArguments(checking: Checking, tool: Declared, text: string): Promise<Checked> {
  const input = parseArguments(text)
  if (input === undefined) return { fault: `the arguments are not valid JSON: ${text}` }
  const found = await checkValue(checking, tool.parameters, input)
  if (typeof found === 'string') return found
  return found.length === 0
    ? {}
    : { fault: [`the arguments do not fit the schema of ${tool.name}:`, ...found].join('\n') }
}

/**
 * Lists the first faults of a value, each with its JSON Pointer; none if it fits the schema. The time is bounded as for
 * arguments.
 */
export const checkValue = (checking: Checking, schema: JsonObject, value: Json): Promise<Faults> =>
  queueCheck(checking, () => faultsOf(checking.run, schema, value))

/**
 * Queues a check behind its tenant's other checks. If the signal aborts first, the check is skipped and does not delay
 * the next one.
 */
async function queueCheck({ tenant, signal }: Checking, check: () => Faults): Promise<Faults> {
  const before = turns.get(tenant) ?? Promise.resolve()
  const checked = before.then(() => {
    const begun = performance.now()
    const result = signal.aborted ? 'unchecked' : check()
    return { result, took: performance.now() - begun }
  })
  const over = checked.then(
    ({ took }) => (took < SHORT_MS ? undefined : sleep(REST * took)),
    () => undefined,
  )
  turns.set(tenant, over)
  void over.then(() => turns.get(tenant) === over && turns.delete(tenant))
  try {
    return (await raceAbort(checked, signal)).result
  } catch (error) {
    if (signal.aborted) return 'unchecked'
    throw error
  }
}

function faultsOf(run: Run, schema: JsonObject, value: Json): Faults {
  const late = tooLong.get(run) ?? 0
  const found = late < MAX_TIMEOUTS ? faultsWithin(CHECK_MS, schema, value) : 'late'
  if (found === 'late') {
    tooLong.set(run, late + 1)
    return 'unchecked'
  }
  if (found === 'unreadable') return found
  if (found.faults.length === 0) return found.isWhole ? [] : 'unreadable'
  return found.faults.slice(0, MAX_FAULTS)
}

interface Found {
  /** The faults, each with its JSON Pointer. */
  readonly faults: readonly string[]
  readonly isWhole: boolean
}

/**
 * Lists the faults of the value. Returns `late` on a timeout, and `unreadable` if the validator cannot apply the schema.
 */
function faultsWithin(timeout: number, from: JsonObject, value: Json): Found | 'late' | 'unreadable' {
  const check = (): Found | 'unreadable' => {
    const { schema, draft, reading } = checkableSchema(withPlainNumbers(from))
    if (reading === 'unreadable') return reading
    const { errors } = new Validator(schema as Schema, draft, false).validate(value)
    const faults = errors.map(({ instanceLocation, error }) => `- ${instanceLocation}: ${error}`)
    return { faults, isWhole: reading === 'whole' }
  }
  for (let stalls = 0; ; stalls++) {
    const before = processorTime()
    try {
      // The timeout of a separate VM context interrupts any code in it, including a regular expression.
      return runInNewContext('check()', { check }, { timeout }) as Found | 'unreadable'
    } catch (error) {
      if (isTimeout(error) && stalls < MAX_STALLS && processorTime() - before < SHORT_MS) continue
      // Only the validator runs in that context. So an error other than a timeout means that the schema has an invalid
      // reference, or a keyword with an invalid value.
      return isTooLong(error) ? 'late' : 'unreadable'
    }
  }
}

/** CPU time of this thread, in milliseconds. */
function processorTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** Errors of another VM context are instances of that context's classes, so `instanceof` fails. */
const isTooLong = (error: unknown): boolean =>
  isTimeout(error) || (typeof error === 'object' && error !== null && 'name' in error && error.name === 'RangeError')

const isTimeout = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
