import type { z } from 'zod'
import { lenientInput } from '../tools/lenient-input.ts'

/** The fields of a tool call that are read here. */
interface Call {
  readonly method: 'tools/call'
  readonly id?: unknown
  readonly params: { readonly name: string; readonly arguments?: unknown }
}

/**
 * Converts the arguments of a tool call to the types of the tool's schema (`lenientInput`) and returns the new request
 * body. If no argument needs a change, returns the same body. The protocol's package would reject null as arguments
 * before it calls a tool, so the conversion happens here.
 */
export function lenientBody(body: string, inputs: ReadonlyMap<string, z.ZodType>): string {
  const call = readCall(body)
  const schema = call && inputs.get(call.params.name)
  if (call === undefined || schema === undefined || !isExact(call.id)) return body
  const given = call.params.arguments
  const read = lenientInput(schema, given)
  if (JSON.stringify(read) === JSON.stringify(given)) return body
  return JSON.stringify({ ...call, params: { ...call.params, arguments: read } })
}

/** Whether a response can contain exactly this id. A number must be a safe integer. */
const isExact = (id: unknown): boolean => typeof id !== 'number' || Number.isSafeInteger(id)

/** Returns the id of a request. Null if there is no id, or if it cannot be sent back exactly. */
export function idOf(body: string): string | number | null {
  const message = read(body)
  const id = isObject(message) && 'id' in message ? message.id : null
  return typeof id === 'string' || (typeof id === 'number' && isExact(id)) ? id : null
}

/** Returns the tool call in a body. Undefined for any other body, which the package handles. */
function readCall(body: string): Call | undefined {
  if (!body.includes('tools/call')) return undefined
  const message = read(body)
  return isCall(message) ? message : undefined
}

function read(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

const isCall = (message: unknown): message is Call =>
  isObject(message) &&
  'method' in message &&
  message.method === 'tools/call' &&
  'params' in message &&
  isObject(message.params) &&
  'name' in message.params &&
  typeof message.params.name === 'string'
