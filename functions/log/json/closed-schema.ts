import type { Json, JsonObject } from '../../domain/json.ts'
import { isJsonObject } from '../../domain/json.ts'

const SCHEMAS = ['additionalProperties', 'contains', 'else', 'if', 'items', 'not', 'then']
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const MAPS = ['$defs', 'definitions', 'dependentSchemas', 'properties']

/**
 * Whether each object that fits the schema has only properties that the schema names. Some providers accept only such
 * schemas. `additionalProperties` may be absent: these providers add `false`. The recursion is safe, because the depth
 * of an accepted schema is limited.
 */
export function isClosedSchema(schema: JsonObject): boolean {
  return !isOpenObject(schema) && subschemas(schema).every(isClosedSchema)
}

function isOpenObject({ additionalProperties, patternProperties, properties, type }: JsonObject): boolean {
  if (additionalProperties === true || isJsonObject(additionalProperties)) return true
  if (isJsonObject(patternProperties) && Object.keys(patternProperties).length > 0) return true
  const isObject = type === 'object' || (Array.isArray(type) && (type as readonly Json[]).includes('object'))
  return isObject && !isJsonObject(properties) && additionalProperties !== false
}

function subschemas(schema: JsonObject): JsonObject[] {
  const found = [
    ...SCHEMAS.flatMap((key) => schema[key] ?? []),
    ...LISTS.flatMap((key) => (Array.isArray(schema[key]) ? (schema[key] as readonly Json[]) : [])),
    ...MAPS.flatMap((key) => (isJsonObject(schema[key]) ? Object.values(schema[key]) : [])),
  ]
  return found.filter((one): one is JsonObject => isJsonObject(one))
}
