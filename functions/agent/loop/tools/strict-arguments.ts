import { Validator } from '@cfworker/json-schema'
import type { Schema, SchemaDraft } from '@cfworker/json-schema'
import { setTimeout as sleep } from 'node:timers/promises'
import { runInNewContext } from 'node:vm'
import type { Json, JsonObject } from '../../../domain/json.ts'
import type { Run } from '../../../domain/runs/run.ts'
import { raceAbort } from '../../../domain/time/time-limit.ts'
import type { Tool } from '../../../ports/tool.ts'
import { parseArguments } from './tool-call.ts'

/** Milliseconds that one check may take: a pattern may need longer than any run for some texts. */
const CHECK_MS = 250
/** Checks of one run that may take too long; after that, none is begun. */
const MAX_TIMEOUTS = 4
/** So many times as long as a check took, no other of its tenant begins: the rest of the time is for everything else. */
const REST = 3
/** Milliseconds. A check that takes less holds nobody up. */
const SHORT_MS = 10
/** A check that did not get as much of the processor in its time was kept from working: it is begun again, so often at the most. */
const MAX_STALLS = 2
const MAX_FAULTS = 10

/** Of a run that is executed here, the checks that took too long. */
const tooLong = new WeakMap<Run, number>()
/** By tenant, when its last check and the rest after it are over. Never rejects. */
const turns = new Map<string, Promise<void>>()

/** What a model was told of a tool whose arguments are held against its schema here. */
type Declared = Pick<Tool, 'name' | 'parameters'>

/** The run whose call is checked. The check waits for its turn until `signal` aborts. */
export interface Checking {
  readonly run: Run
  readonly tenant: string
  readonly signal: AbortSignal
}

/** The outcome of a check. `fault`: the text for the model about arguments that do not fit. `unchecked`: there was no time for the check. */
export type Checked = { readonly fault?: string } | 'unchecked'

/**
 * Checks the arguments of a call against the schema of its tool. The time is bounded for the run and shared with others, whatever
 * schemas and arguments: each tenant's checks run one after the other.
 */
export async function checkArguments(checking: Checking, tool: Declared, text: string): Promise<Checked> {
  const input = parseArguments(text)
  if (input === undefined) return { fault: `the arguments are not valid JSON: ${text}` }
  return queueCheck(checking, () => faultOf(checking.run, tool, input))
}

/** Makes a check when it is its tenant's turn; one whose signal has aborted before that is not made, and takes no turn. */
async function queueCheck({ tenant, signal }: Checking, check: () => Checked): Promise<Checked> {
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

function faultOf(run: Run, tool: Declared, input: Json): Checked {
  const late = tooLong.get(run) ?? 0
  const faults = late < MAX_TIMEOUTS ? faultsWithin(CHECK_MS, tool, input) : undefined
  if (faults === undefined) {
    tooLong.set(run, late + 1)
    return 'unchecked'
  }
  if (faults.length === 0) return {}
  return { fault: [`the arguments do not fit the schema of ${tool.name}:`, ...faults.slice(0, MAX_FAULTS)].join('\n') }
}

/** What of the arguments does not fit, each with its JSON Pointer; undefined where this takes too long. */
function faultsWithin(timeout: number, { parameters }: Declared, input: Json): string[] | undefined {
  const check = (): string[] => {
    const { errors } = new Validator(parameters as Schema, draftOf(parameters), false).validate(input)
    return errors.map(({ instanceLocation, error }) => `- ${instanceLocation}: ${error}`)
  }
  for (let stalls = 0; ; stalls++) {
    const before = processorTime()
    try {
      // The time-out of a context of its own ends whatever runs in it, a regular expression, too.
      return runInNewContext('check()', { check }, { timeout }) as string[]
    } catch (error) {
      if (isTimeout(error) && stalls < MAX_STALLS && processorTime() - before < SHORT_MS) continue
      // Nothing else of ours runs in there: a keyword of the schema does not have what the validator expects of it.
      return isTooLong(error) ? undefined : [`- #: the schema cannot be applied: ${reasonOf(error)}`]
    }
  }
}

/** Milliseconds that this thread has worked. */
function processorTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** MCP servers often say that their schemas are of an older draft, whose tuples and limits are written otherwise. */
function draftOf({ $schema }: JsonObject): SchemaDraft {
  if (typeof $schema !== 'string') return '2020-12'
  if ($schema.includes('draft-04')) return '4'
  if (/draft-0[67]/u.test($schema)) return '7'
  return $schema.includes('2019-09') ? '2019-09' : '2020-12'
}

/** Errors of another context are instances of its own classes. */
const isTooLong = (error: unknown): boolean =>
  isTimeout(error) || (typeof error === 'object' && error !== null && 'name' in error && error.name === 'RangeError')

const isTimeout = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
