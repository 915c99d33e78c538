import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'

/** Maximum number of objects and lists in the schema, including the schema itself. */
const MAX_NODES = 2_000
/** Maximum depth of nested schemas. An object's `properties` and the properties in it count as one level. */
const MAX_LEVELS = 32
const MAX_REFERENCES = 100
/**
 * Maximum number of schemas that one value is checked against. Each use of a reference counts. Ten schemas that each reference
 * the next one twice count as a thousand.
 */
const MAX_APPLIED_SCHEMAS = 500

/** Keywords whose subschemas apply to the value of the enclosing schema. */
const SAME_VALUE_LISTS = ['allOf', 'anyOf', 'oneOf']
const SAME_VALUE = ['not', 'if', 'then', 'else']
const REFERENCES = ['$ref', '$dynamicRef', '$recursiveRef']
/** Keywords with plain values instead of schemas. */
const VALUES = new Set(['const', 'enum', 'default', 'example', 'examples'])
/** Keywords whose value maps names to schemas. */
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'])

export interface SchemaFault {
  /** Path from the schema's root. */
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** A schema, or an object with schemas, and its path. */
interface Node {
  readonly value: JsonObject
  readonly path: readonly (string | number)[]
}

/**
 * Checks the size, depth and cost of a caller's tool parameters. Returns the first fault with its path; undefined if
 * there is none.
 * The time is linear in the schema, whatever its content. Checking arguments with an accepted schema also takes linear
 * time, because its references are not circular and cannot multiply without limit. Unknown keywords and unresolved
 * references are left to the model's provider.
 */
export function schemaFault(schema: JsonObject): SchemaFault | undefined {
  try {
    const nodes = collect(schema)
    const targets = resolveReferences(schema, nodes)
    const costs = new Map<JsonObject, number>()
    for (const node of nodes.toReversed()) checkApplied(node, targets, costs)
    return undefined
  } catch (fault) {
    if (fault instanceof Fault) return { path: fault.path, message: fault.message }
    throw fault
  }
}

class Fault extends Error {
  readonly path: readonly (string | number)[]
  constructor(path: readonly (string | number)[], message: string) {
    super(message)
    this.path = path
  }
}

/** Returns all objects of the schema that may be schemas. */
function collect(root: JsonObject): Node[] {
  const found: Node[] = []
  let nodes = 0
  const visit = (value: Json, path: readonly (string | number)[], level: number, isMap: boolean): void => {
    if (typeof value !== 'object' || value === null) return
    if (++nodes > MAX_NODES) throw new Fault([], `must have at most ${MAX_NODES} objects and lists`)
    if (level > MAX_LEVELS) throw new Fault(path, `is nested more than ${MAX_LEVELS} deep`)
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) visit(item as Json, [...path, index], level + 1, false)
      return
    }
    found.push({ value: value as JsonObject, path })
    for (const [key, item] of Object.entries(value)) {
      // In a map of schemas, keys are names of properties, even if a name is `const` or `properties`.
      if (!isMap && VALUES.has(key)) continue
      const holdsSchemas = !isMap && (MAPS.has(key) || Array.isArray(item))
      visit(item as Json, [...path, key], holdsSchemas ? level : level + 1, !isMap && MAPS.has(key))
    }
  }
  visit(root, [], 0, false)
  return found
}

/** Returns the targets of each schema's references. */
function resolveReferences(root: JsonObject, nodes: readonly Node[]): Map<JsonObject, JsonObject[]> {
  const named = new Map<string, JsonObject>()
  for (const { value } of nodes) {
    if (typeof value['$id'] === 'string') named.set(value['$id'].replace(/#$/, ''), value)
    for (const anchor of [value['$anchor'], value['$dynamicAnchor']])
      if (typeof anchor === 'string') named.set(`#${anchor}`, value)
  }
  const targets = new Map<JsonObject, JsonObject[]>()
  let references = 0
  for (const { value, path } of nodes) {
    for (const keyword of REFERENCES) {
      const reference = value[keyword]
      if (typeof reference !== 'string') continue
      if (++references > MAX_REFERENCES)
        throw new Fault([...path, keyword], `is one reference too many: at most ${MAX_REFERENCES}`)
      const target = resolve(root, named, reference)
      if (isJsonObject(target)) targets.set(value, [...(targets.get(value) ?? []), target])
    }
  }
  return targets
}

function resolve(root: JsonObject, named: ReadonlyMap<string, JsonObject>, reference: string): Json | undefined {
  const [document = '', fragment = ''] = reference.split('#', 2)
  const from = document === '' ? root : named.get(document)
  if (from === undefined || fragment === '') return from
  if (!fragment.startsWith('/')) return named.get(`#${fragment}`)
  let at: Json | undefined = from
  for (const step of fragment.slice(1).split('/')) {
    const name = unescaped(step)
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined
    at = (at as JsonObject)[name]
  }
  return typeof at === 'boolean' || isJsonObject(at) ? at : undefined
}

function unescaped(step: string): string {
  const plain = step.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}

/** Throws for a schema that applies more than `MAX_APPLIED_SCHEMAS` schemas to one value, or that applies itself. */
function checkApplied(
  { value: from, path }: Node,
  targets: ReadonlyMap<JsonObject, readonly JsonObject[]>,
  costs: Map<JsonObject, number>,
): void {
  const OPEN = -1
  const costOf = (schema: JsonObject): number => {
    const known = costs.get(schema)
    if (known === OPEN) throw new Fault(path, 'leads back to itself for the same value')
    if (known !== undefined) return known
    costs.set(schema, OPEN)
    let cost = 1
    for (const other of [...appliedBy(schema), ...(targets.get(schema) ?? [])]) {
      cost += costOf(other)
      if (cost > MAX_APPLIED_SCHEMAS)
        throw new Fault(path, `checks a value against more than ${MAX_APPLIED_SCHEMAS} schemas`)
    }
    costs.set(schema, cost)
    return cost
  }
  costOf(from)
}

function appliedBy(schema: JsonObject): JsonObject[] {
  const listed = SAME_VALUE_LISTS.flatMap((keyword): readonly (Json | undefined)[] => {
    const list = schema[keyword]
    return Array.isArray(list) ? (list as readonly Json[]) : []
  })
  const dependent = isJsonObject(schema['dependentSchemas']) ? Object.values(schema['dependentSchemas']) : []
  return [...listed, ...SAME_VALUE.map((keyword) => schema[keyword]), ...dependent].filter((one) =>
    isJsonObject(one),
  ) as JsonObject[]
}
