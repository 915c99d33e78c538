import { isJsonObject } from '../../../domain/json.ts'
import type { Json, JsonObject } from '../../../domain/json.ts'
import type { JsonFormat } from '../../../domain/runs/request-settings.ts'

/** Maximum depth of the value. Deeper values are null. */
const MAX_DEPTH = 8

/** Returns an answer in this format, as JSON. Its texts are `text`. Conditions such as patterns are not considered. */
export const demoAnswer = (format: JsonFormat, text: string): string =>
  JSON.stringify(format.type === 'json_object' ? { answer: text } : valueOf(format.schema, format.schema, text, 0))

function valueOf(schema: Json | undefined, root: JsonObject, text: string, depth: number): Json {
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return null
  const sub = (one: Json | undefined): Json => valueOf(one, root, text, depth + 1)
  const { $ref, const: constant, enum: values, anyOf, oneOf, type, properties, items, minItems, minimum } = schema
  if (typeof $ref === 'string') return sub(targetOf(root, $ref))
  if (constant !== undefined) return constant
  for (const list of [values, anyOf, oneOf]) {
    const first = Array.isArray(list) ? (list[0] as Json | undefined) : undefined
    if (first !== undefined) return list === values ? first : sub(first)
  }
  const name = Array.isArray(type) ? (type[0] as Json | undefined) : type
  switch (name ?? (isJsonObject(properties) ? 'object' : 'string')) {
    case 'object':
      return Object.fromEntries(
        Object.entries(isJsonObject(properties) ? properties : {}).map(([key, one]) => [key, sub(one)]),
      )
    case 'array':
      return Array.from({ length: Math.min(Number(minItems ?? 1), 10) }, () => sub(items))
    case 'integer':
    case 'number':
      return typeof minimum === 'number' ? Math.ceil(minimum) : 1
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return text
  }
}

/** Returns the schema that a reference within the document names, such as `#/$defs/city`. */
function targetOf(root: JsonObject, reference: string): Json | undefined {
  const steps = reference.startsWith('#/') ? reference.slice(2).split('/') : []
  return steps.reduce<Json | undefined>((at, step) => (isJsonObject(at) ? at[step] : undefined), root)
}
