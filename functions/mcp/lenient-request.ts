import type { z } from 'zod'
import { lenientInput } from '../tools/lenient-input.ts'

/** The fields of a tool call that are read here. */
interface Call {
  readonly method: 'tools/call'
  readonly id?: unknown
  readonly params: { readonly name: string; readonly arguments?: unknown }
}

/**
 * Returns the body of a request with the arguments of its call as the tool's schema reads them, and the body itself if nothing needs
 * a change. The protocol's package would refuse null for all arguments before any tool sees them.
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

/** An id that JSON writes again as it was sent. */
const isExact = (id: unknown): boolean => typeof id !== 'number' || Number.isSafeInteger(id)

/** The id of a request; null if it has none that can be sent back. */
export function idOf(body: string): string | number | null {
  const message = read(body)
  const id = isObject(message) && 'id' in message ? message.id : null
  return typeof id === 'string' || (typeof id === 'number' && isExact(id)) ? id : null
}

/** The call in a body; undefined for all else, which is left to the package. */
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
