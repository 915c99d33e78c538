/** Fields of a schema in the API's description that this module reads. */
interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: { readonly [name: string]: Schema }
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly description?: string
}
interface Operation {
  readonly operationId: string
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly schema: Schema
  }[]
}
export interface Description {
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
  readonly components: { readonly schemas: { readonly [name: string]: Schema } }
}

const HEAD = `// Written by \`npm run build\` from the API's description. Change the routes' schemas, then run it again.

/** Any JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }
`

/**
 * Returns the types of the client: one for each schema of the API's description, and one for each operation with a
 * query.
 */
export function clientTypes({ paths, components }: Description): string {
  const schemas = Object.entries(components.schemas)
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, schema]) => `${comment(schema.description)}export type ${name} = ${typeOf(schema, '')}\n`)
  const queries = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ operationId, parameters = [] }) => {
      const named = parameters.filter((parameter) => parameter.in === 'query')
      const properties = Object.fromEntries(named.map(({ name, schema }) => [name, schema]))
      const required = named.filter((parameter) => parameter.required === true).map(({ name }) => name)
      return named.length === 0
        ? []
        : [`  readonly ${operationId}: ${orUndefined(typeOf({ type: 'object', properties, required }, '  '))}`]
    })
    .toSorted()
  const all = `/** The query parameters of each operation. */\nexport interface Queries {\n${queries.join('\n')}\n}\n`
  return [HEAD, ...schemas, all].join('\n')
}

/** Allows undefined in optional fields, so that callers can pass on optional values. */
const orUndefined = (type: string): string => type.replaceAll(/^( +readonly \w+\?: .*)$/gm, '$1 | undefined')

const comment = (text: string | undefined, indent = ''): string =>
  text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/').replaceAll('\n', ' ')} */\n`

function typeOf(schema: Schema, indent: string): string {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1) ?? 'Json'
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  const union = schema.anyOf ?? schema.oneOf
  if (union !== undefined) return union.map((one) => grouped(typeOf(one, indent))).join(' | ')
  if (schema.allOf !== undefined) return schema.allOf.map((one) => grouped(typeOf(one, indent))).join(' & ')
  const types = schema.type === undefined ? [] : [schema.type].flat()
  if (types.length === 0) return schema.properties === undefined ? 'Json' : objectType(schema, indent)
  return [...new Set(types.map((type) => named(type, schema, indent)))].join(' | ')
}

const grouped = (type: string): string => (type.includes(' | ') && !type.startsWith('{') ? `(${type})` : type)

function named(type: string, schema: Schema, indent: string): string {
  switch (type) {
    case 'integer':
    case 'number':
      return 'number'
    case 'array':
      return schema.items === undefined ? 'readonly Json[]' : `readonly (${typeOf(schema.items, indent)})[]`
    case 'object':
      return objectType(schema, indent)
    default:
      return type
  }
}

function objectType({ properties, required = [], additionalProperties }: Schema, indent: string): string {
  const inner = `${indent}  `
  const fields = Object.entries(properties ?? {}).map(([name, schema]) => {
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name)
    const optional = required.includes(name) ? '' : '?'
    return `${comment(schema.description, inner)}${inner}readonly ${key}${optional}: ${typeOf(schema, inner)}`
  })
  if (typeof additionalProperties === 'object')
    return `{ readonly [name: string]: ${typeOf(additionalProperties, indent)} }`
  if (fields.length === 0) return '{ readonly [name: string]: Json }'
  return `{\n${fields.join('\n')}\n${indent}}`
}
