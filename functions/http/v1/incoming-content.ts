import type { z } from '@hono/zod-openapi'
import type { IncomingPart, CallResolution } from '../../agent/intake/agent-service.ts'
import type { Json } from '../../domain/json.ts'
import type { ClientTool } from '../../domain/run.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { isObject } from './schemas/fields.ts'
import { contentParts } from './schemas/input.ts'
import type { toolResults } from './schemas/input.ts'
import { RequestError } from '../middleware/request-error.ts'
import { invalidFields, invalidRequest } from '../middleware/validation.ts'

const PART_TYPES = new Set<unknown>(['text', 'image', 'file'])

type ContentPart = z.output<typeof contentParts>[number]

/** A message's content as parts with their bytes. */
export const incomingParts = (content: string | readonly ContentPart[]): IncomingPart[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content.map(incomingPart)

/** What these return is never indexed, and what they are called is what we answer for. */
const BUILT_IN = new Set(['search_history', 'read_output', 'current_time', 'http_fetch'])

/** Refuses client tools of the same name, and of a built-in tool's. */
export function refuseTakenNames(tools: readonly ClientTool[]): void {
  const errors = tools.flatMap(({ name }, index) =>
    BUILT_IN.has(name)
      ? [{ path: `body.tools[${index}].name`, message: `${name} is the name of a built-in tool` }]
      : [],
  )
  if (errors.length > 0) throw invalidRequest(errors)
  refuseRepeats(
    'tool',
    tools.map((tool) => tool.name),
  )
}

function refuseRepeats(what: string, names: readonly string[]): void {
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined)
    throw new RequestError(409, `repeated_${what}`, `there is more than one ${what} for ${repeated}`)
}

/** Answers to tool calls; `text` is the body they came in, from which other JSON values keep their exact numbers. */
export function callResolutions(body: z.output<typeof toolResults>, text: string): CallResolution[] {
  refuseRepeats(
    'answer',
    body.results.map(({ tool_call_id: id, message_id: message }) =>
      message === undefined ? id : `${id} (${message})`,
    ),
  )
  const exact = JSON.parse(text, keepNumbers) as { results: { output?: Json }[] }
  return body.results.map((result, index) => {
    const call = { toolCallId: result.tool_call_id, ...definedFields({ messageId: result.message_id }) }
    if ('error' in result) return { ...call, error: result.error }
    if ('approve' in result) return { ...call, approve: result.approve }
    const { output } = result
    const path = `body.results[${index}].output`
    return { ...call, output: outputParts(path, output, exact.results[index]?.output) }
  })
}

function outputParts(path: string, output: Json, exact: Json | undefined): IncomingPart[] {
  if (typeof output === 'string') return [{ type: 'text', text: output }]
  if (!looksLikeParts(output)) return [{ type: 'text', text: JSON.stringify(exact) }]
  const parsed = contentParts.safeParse(output)
  if (!parsed.success) throw invalidRequest(invalidFields(path, parsed.error.issues))
  return parsed.data.map(incomingPart)
}

/** Any other list is a JSON value like any other. */
const looksLikeParts = (value: Json): boolean =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((item: Json) => isObject(item) && PART_TYPES.has(item['type']))

function incomingPart(part: ContentPart): IncomingPart {
  if (part.type === 'text') return part
  return {
    type: part.type,
    mediaType: part.media_type.toLowerCase(),
    ...definedFields({ filename: part.filename }),
    data: Buffer.from(part.data, 'base64'),
  }
}

/** `12345678901234567890` and `1.0` are written again as they came in. */
function keepNumbers(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined || context.source === JSON.stringify(value))
    return value
  return rawJson(context.source)
}

/** Node has it; TypeScript's own types do not yet. */
const rawJson = (JSON as typeof JSON & { rawJSON(text: string): unknown }).rawJSON
