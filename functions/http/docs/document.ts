/** The parts of an OpenAPI document that the page reads. */
export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly security?: readonly object[]
  readonly tags?: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly securitySchemes?: Readonly<Record<string, { readonly description?: string }>>
  }
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>
}

export interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}

/** Content by media type. */
export type Content = Readonly<Record<string, { readonly schema?: Schema }>>

export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly example?: unknown
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly oneOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
}

/** Whether a request needs an API key. */
export const needsKey = ({ security }: ApiDocument): boolean =>
  security !== undefined && security.every((requirement) => Object.keys(requirement).length > 0)

/** The name of the schema that this one refers to. */
export const referredName = ({ $ref }: Schema): string | undefined => $ref?.split('/').at(-1)

/** Returns the schema that this one refers to; a schema without a reference is returned unchanged. */
export function resolveSchema(document: ApiDocument, schema: Schema): Schema {
  const name = referredName(schema)
  return name === undefined ? schema : (document.components.schemas[name] ?? {})
}

/** The schema's own example, or one made from the examples of its fields. */
export function exampleOf(document: ApiDocument, reference: Schema): unknown {
  const schema = resolveSchema(document, reference)
  if (schema.example !== undefined) return schema.example
  if (schema.default !== undefined) return schema.default
  if (schema.enum !== undefined) return schema.enum[0]
  const [variant] = schema.oneOf ?? schema.anyOf ?? []
  if (variant !== undefined) return exampleOf(document, variant)
  if (schema.items !== undefined) return [exampleOf(document, schema.items)]
  if (schema.properties === undefined) return EXAMPLES[[schema.type].flat()[0] ?? 'object']
  const required = Object.entries(schema.properties).filter(([name]) => schema.required?.includes(name))
  return Object.fromEntries(required.map(([name, field]) => [name, exampleOf(document, field)]))
}

const EXAMPLES: Readonly<Record<string, unknown>> = {
  string: 'text',
  integer: 1,
  number: 1,
  boolean: false,
  null: null,
  array: [],
  object: {},
}
