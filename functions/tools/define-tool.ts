import { z } from 'zod'
import type { Json, JsonObject } from '../domain/json.ts'
import { MAX_TIMER_MS } from '../domain/time/time-limit.ts'
import { faultsOf } from '../log/faults.ts'
import type { Tool, ToolContext, ToolOutput } from '../ports/tool.ts'
import { lenientInput } from './lenient-input.ts'

/** Maximum number of faults in an error for the model. */
const MAX_FAULTS = 20

/** Timeout of tools that set none (promises T3). */
const DEFAULT_TIMEOUT_MS = 60_000

export interface ToolDefinition<Input extends z.ZodType> {
  readonly name: string
  readonly description: string
  readonly input: Input
  /** Whether an interrupted call may be executed again. Default: no. */
  readonly idempotent?: boolean
  /** Timeout of one call, in ms: from 1 to `MAX_TIMER_MS` (24.8 days). */
  readonly timeoutMs?: number
  readonly needsApproval?: boolean
  execute(input: z.output<Input>, context: ToolContext): Promise<ToolOutput>
}

/**
 * Makes a tool from a zod schema, which the model receives as JSON Schema. `execute` runs only with valid arguments.
 * For invalid arguments, the model gets an error that names each path. Throws `RangeError` for a timeout outside
 * the limits.
 */
export function defineTool<Input extends z.ZodType>(definition: ToolDefinition<Input>): Tool {
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = definition
  if (!(timeoutMs > 0 && timeoutMs <= MAX_TIMER_MS))
    throw new RangeError(
      `timeoutMs of ${definition.name} is ${timeoutMs}: it must be above 0 and at most ${MAX_TIMER_MS} (24.8 days)`,
    )
  return {
    name: definition.name,
    description: definition.description,
    parameters: parametersOf(definition.input),
    idempotent: definition.idempotent ?? false,
    timeoutMs,
    needsApproval: definition.needsApproval ?? false,
    check(input: Json) {
      const { error } = definition.input.safeParse(lenientInput(definition.input, input))
      return error && explain(definition.name, error)
    },
    async execute(input: Json, context: ToolContext): Promise<ToolOutput> {
      const parsed = definition.input.safeParse(lenientInput(definition.input, input))
      if (!parsed.success) throw new TypeError(explain(definition.name, parsed.error))
      return definition.execute(parsed.data, context)
    },
  }
}

/** Omits `$schema`, because some providers reject unknown keywords. */
function parametersOf(input: z.ZodType): JsonObject {
  const { $schema: _, ...parameters } = z.toJSONSchema(input, { io: 'input' })
  return JSON.parse(JSON.stringify(parameters)) as JsonObject
}

function explain(name: string, error: z.ZodError): string {
  const faults = faultsOf(error.issues, MAX_FAULTS)
  const lines = faults.map(({ path, message }) => `- ${path.map(String).join('.') || '(arguments)'}: ${message}`)
  return `the arguments do not fit the schema of ${name}:\n${lines.join('\n')}`
}
