import type { Json } from '../../domain/json.ts'
import { isJsonObject } from '../../domain/json.ts'
import type { JsonFormat } from '../../domain/runs/request-settings.ts'
import { readJson, withPlainNumbers } from '../json/exact-json.ts'
import { jsonFault } from '../json/json-size.ts'

/** The JSON text of an answer with its value, or the faults that make it unusable. */
export type ReadAnswer =
  | { readonly text: string; readonly value: Json }
  | { readonly faults: readonly [string, ...string[]] }

const FENCE = /^\s*```/u

/**
 * Reads the text of an answer as JSON. `json_object` requires an object. The value of `json_schema` is not checked
 * against its schema here.
 */
export function readAnswer({ type }: JsonFormat, text: string): ReadAnswer {
  if (text.trim() === '') return { faults: ['- the answer is empty'] }
  const size = jsonFault(text)
  if (size !== undefined) return { faults: [`- the answer ${size}`] }
  const value = parsed(text)
  if (value === undefined) {
    const advice = FENCE.test(text) ? ': it must not be in a Markdown code fence' : ''
    return { faults: [`- the answer is not valid JSON${advice}`] }
  }
  if (type === 'json_object' && !isJsonObject(value)) return { faults: ['- the answer is not a JSON object'] }
  return { text, value: withPlainNumbers(value) }
}

function parsed(text: string): Json | undefined {
  try {
    return readJson(text) as Json
  } catch {
    return undefined
  }
}
