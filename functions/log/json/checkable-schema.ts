import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'

/**
 * Limits for regular expressions: maximum characters of one pattern, and maximum uses of `\p{…}` in the whole schema. Each use
 * takes 30 µs to compile. Patterns over a limit are not compiled.
 */
const MAX_PATTERN_CHARACTERS = 500
const MAX_CLASSES = 16

export type Draft = '4' | '7' | '2019-09' | '2020-12'

/** A schema in the form that the validator reads. */
export interface CheckableSchema {
  readonly schema: JsonObject | boolean
  readonly draft: Draft
  /**
   * How much of the original the schema keeps:
   * - `whole`: all of it.
   * - `partial`: a keyword was dropped. The original also refuses every value that this schema refuses.
   * - `unreadable`: a keyword was dropped, and this schema may refuse values that the original accepts.
   */
  readonly reading: 'whole' | 'partial' | 'unreadable'
}

const TYPES = new Set(['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'])
const NUMBERS = new Set([
  ...['minimum', 'maximum', 'multipleOf', 'minLength', 'maxLength', 'minItems', 'maxItems', 'minContains'],
  ...['maxContains', 'minProperties', 'maxProperties'],
])
const SCHEMAS = new Set([
  ...['not', 'if', 'then', 'else', 'contains', 'propertyNames', 'additionalProperties', 'additionalItems'],
  ...['unevaluatedProperties', 'unevaluatedItems'],
])
const LISTS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
/** Keywords whose contents are plain values, which may be null. */
const VALUES = new Set(['const', 'default', 'example', 'examples'])
/**
 * Keywords that may negate conditions. If a condition below such a keyword is dropped, the schema may refuse more
 * values.
 */
const NEGATING = new Set(['not', 'if', 'oneOf', 'contains', 'unevaluatedProperties', 'unevaluatedItems'])
/**
 * Keywords that the translation omits. `format` is an annotation in JSON Schema 2020-12, and servers interpret it in different
 * ways.
 */
const ANNOTATIONS = new Set(['format', 'nullable'])

/** State of the translation of one schema. */
interface Reading {
  readonly draft: Draft
  isPartial: boolean
  negates: boolean
  classes: number
}

/**
 * Translates a tool's schema into the form that the validator reads. Keywords of other drafts and dialects are translated to
 * supported ones. A keyword with the value null counts as absent. A keyword that has no meaning in any draft is dropped. The time
 * is linear in the schema.
 */
export function checkableSchema(parameters: JsonObject): CheckableSchema {
  const reading: Reading = { draft: draftOf(parameters), isPartial: false, negates: false, classes: 0 }
  const schema = readSchema(parameters, reading)
  const { draft, isPartial, negates } = reading
  return { schema, draft, reading: isPartial ? (negates ? 'unreadable' : 'partial') : 'whole' }
}

/**
 * Reads the draft from `$schema`. MCP servers often declare an older draft, which writes tuples and limits in another
 * form.
 */
function draftOf({ $schema }: JsonObject): Draft {
  if (typeof $schema !== 'string') return '2020-12'
  if (/draft-0[1-4]/u.test($schema)) return '4'
  if (/draft-0[67]/u.test($schema)) return '7'
  return $schema.includes('2019-09') ? '2019-09' : '2020-12'
}

const isNames = (value: Json): boolean => Array.isArray(value) && value.every((name) => typeof name === 'string')

function readSchema(from: Json | undefined, reading: Reading): JsonObject | boolean {
  if (typeof from === 'boolean') return from
  if (from === null || from === undefined) return true
  if (!isJsonObject(from)) {
    reading.isPartial = true
    return true
  }
  const read: Record<string, Json> = {}
  for (const [key, value] of Object.entries(from)) {
    if (value === undefined || ANNOTATIONS.has(key) || (value === null && !VALUES.has(key))) continue
    if (NEGATING.has(key)) reading.negates = true
    const found = readKeyword(key, value, reading)
    if (found === undefined) reading.isPartial = true
    // An assignment to a property named `__proto__` would replace the prototype instead.
    else Object.defineProperty(read, key, { value: found, enumerable: true, configurable: true, writable: true })
  }
  if (reading.draft !== '4') translateLimits(read)
  translateTuple(read, reading)
  if (hasUnreadNames(from, read)) for (const key of ['additionalProperties', 'unevaluatedProperties']) delete read[key]
  return from['nullable'] === true ? { anyOf: [{ type: 'null' }, read] } : read
}

/** Translates the value of a keyword; undefined if the value has no meaning. */
function readKeyword(key: string, value: Json, reading: Reading): Json | undefined {
  if (SCHEMAS.has(key)) return readSchema(value, reading)
  if (LISTS.has(key)) return Array.isArray(value) ? value.map((one: Json) => readSchema(one, reading)) : undefined
  if (MAPS.has(key)) return readMap(key, value, reading)
  if (NUMBERS.has(key)) return typeof value === 'number' ? value : undefined
  switch (key) {
    case 'items':
      return Array.isArray(value) ? value.map((one: Json) => readSchema(one, reading)) : readSchema(value, reading)
    case 'type':
      return readType(value)
    case 'required':
      return isNames(value) ? value : undefined
    case 'enum':
      return Array.isArray(value) ? value : undefined
    case 'pattern':
      return typeof value === 'string' && compiles(value, reading) ? value : undefined
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
      return typeof value === 'number' || typeof value === 'boolean' ? value : undefined
    case 'dependencies':
    case 'dependentRequired':
      return isJsonObject(value) ? readDependencies(value, reading) : undefined
    default:
      return value
  }
}

function readMap(key: string, value: Json, reading: Reading): Json | undefined {
  // PHP writes an empty object as an empty list.
  if (Array.isArray(value) && value.length === 0) return {}
  if (!isJsonObject(value)) return undefined
  if (key === 'patternProperties' && !Object.keys(value).every((name) => compiles(name, reading))) return undefined
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, readSchema(one, reading)]))
}

const readDependencies = (value: JsonObject, reading: Reading): JsonObject =>
  Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      one !== undefined && isNames(one) ? one : readSchema(one, reading),
    ]),
  )

/** Translates the names of types. Some generators write them in capitals. */
function readType(value: Json): Json | undefined {
  const names = (Array.isArray(value) ? value : [value]).map((name: Json) => {
    if (name === null) return 'null'
    return typeof name === 'string' ? name.toLowerCase() : ''
  })
  if (names.length === 0 || !names.every((name) => TYPES.has(name))) return undefined
  return Array.isArray(value) ? names : names[0]
}

function compiles(pattern: string, reading: Reading): boolean {
  reading.classes += pattern.match(/\\p/giu)?.length ?? 0
  if (pattern.length > MAX_PATTERN_CHARACTERS || reading.classes > MAX_CLASSES) return false
  try {
    new RegExp(pattern, 'u')
    return true
  } catch {
    return false
  }
}

/** Translates exclusive limits from the form of draft 4, in which they are booleans. */
function translateLimits(read: Record<string, Json>): void {
  for (const [limit, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    const [value, flag] = [read[limit], read[exclusive]]
    if (typeof flag !== 'boolean') continue
    delete read[exclusive]
    if (!flag || value === undefined) continue
    delete read[limit]
    read[exclusive] = value
  }
}

/** Translates a tuple from the form of older drafts: a list in `items` becomes `prefixItems`. */
function translateTuple(read: Record<string, Json>, { draft }: Reading): void {
  const { items, additionalItems, ...rest } = read
  if (draft !== '2020-12' || !Array.isArray(items) || 'prefixItems' in rest) return
  delete read['items']
  delete read['additionalItems']
  read['prefixItems'] = items
  if (additionalItems !== undefined) read['items'] = additionalItems
}

/**
 * Whether `properties` or `patternProperties` was dropped. If so, `additionalProperties` would wrongly apply to the
 * properties that the dropped keyword named.
 */
const hasUnreadNames = (from: JsonObject, read: JsonObject): boolean =>
  ['properties', 'patternProperties'].some((key) => from[key] !== undefined && from[key] !== null && !(key in read))
