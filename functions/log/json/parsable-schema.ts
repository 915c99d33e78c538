import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'

const MAPS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependencies']
const LISTS = ['allOf', 'anyOf', 'oneOf']
const SCHEMAS = ['additionalProperties', 'additionalItems', 'items', 'contains', 'not', 'if', 'then', 'else']

/**
 * Returns the schema in a form that a provider package can parse. OpenAI's package throws for a null in the place of a
 * schema, so the whole request would fail. All other values are kept. A schema that needs no change is returned
 * unchanged.
 */
export function parsableSchema(schema: JsonObject): JsonObject {
  const changed: Record<string, Json | undefined> = {}
  for (const key of MAPS) if (key in schema) changed[key] = readMap(schema[key])
  for (const key of LISTS) if (key in schema) changed[key] = readList(schema[key])
  for (const key of SCHEMAS) if (key in schema) changed[key] = readSchema(schema[key])
  if ('pattern' in schema) changed['pattern'] = typeof schema['pattern'] === 'string' ? schema['pattern'] : undefined
  if ('propertyNames' in schema) changed['propertyNames'] = readNames(schema['propertyNames'])
  const isWhole = Object.entries(changed).every(([key, value]) => value === schema[key])
  if (isWhole) return schema
  return Object.fromEntries(Object.entries({ ...schema, ...changed }).filter(([, value]) => value !== undefined))
}

/** Replaces a value that is not a schema by the schema that allows everything. */
const readDefinition = (value: Json): Json =>
  isJsonObject(value) ? parsableSchema(value) : typeof value === 'boolean' ? value : {}

function readMap(map: Json | undefined): Json | undefined {
  if (!isJsonObject(map)) return undefined
  const entries = Object.entries(map).map(
    ([name, one]) => [name, Array.isArray(one) ? one : readDefinition(one ?? null)] as const,
  )
  return entries.every(([name, one]) => one === map[name]) ? map : Object.fromEntries(entries)
}

function readList(list: Json | undefined): Json | undefined {
  if (!Array.isArray(list)) return undefined
  const read: readonly Json[] = list.map((one: Json) => readDefinition(one))
  return read.every((one, index) => one === list[index]) ? (list as readonly Json[]) : read
}

function readSchema(value: Json | undefined): Json | undefined {
  if (Array.isArray(value)) return readList(value)
  return isJsonObject(value) ? parsableSchema(value) : typeof value === 'boolean' ? value : undefined
}

/** Drops a schema of `propertyNames` if its type is not `string`, because OpenAI's package rejects such a schema. */
const readNames = (names: Json | undefined): Json | undefined =>
  isJsonObject(names) && (names['type'] === undefined || names['type'] === 'string') ? parsableSchema(names) : undefined
