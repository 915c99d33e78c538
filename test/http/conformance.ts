import { Validator } from '@cfworker/json-schema'
import type { Schema } from '@cfworker/json-schema'

export interface OpenApiDocument {
  readonly openapi: string
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
  readonly components: { readonly schemas: { readonly [name: string]: Schema } }
}
export interface Operation {
  readonly operationId: string
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[]
  readonly requestBody?: { readonly content: { readonly [mediaType: string]: { readonly schema: Schema } } }
  readonly responses: {
    readonly [status: string]: {
      readonly description: string
      readonly headers?: { readonly [name: string]: { readonly required?: boolean } }
      readonly content?: { readonly [mediaType: string]: { readonly schema: Schema; readonly example?: unknown } }
    }
  }
}

/** Differences between a response and its description. Empty for requests that the document does not describe. */
export async function deviations(document: OpenApiDocument, request: Request, response: Response): Promise<string[]> {
  const path = new URL(request.url).pathname
  const template = Object.keys(document.paths).find((candidate) => templatePattern(candidate).test(path))
  const method = request.method === 'HEAD' ? 'get' : request.method.toLowerCase()
  const operation = template === undefined ? undefined : document.paths[template]?.[method]
  if (operation === undefined) return []
  const described = operation.responses[String(response.status)]
  if (described === undefined) return [`${operation.operationId} does not describe ${response.status}`]
  const missing = Object.entries(described.headers ?? {})
    .filter(([name, header]) => header.required === true && !response.headers.has(name))
    .map(([name]) => `${operation.operationId} ${response.status} lacks the header ${name}`)
  const mediaType = (response.headers.get('content-type') ?? '').split(';')[0] ?? ''
  if (described.content === undefined && mediaType === '') return missing
  const content = described.content?.[mediaType] ?? described.content?.['*/*']
  if (content === undefined)
    return [...missing, `${operation.operationId} ${response.status} does not describe ${mediaType}`]
  if (!/[+/]json$/.test(mediaType) || request.method === 'HEAD') return missing
  return [...missing, ...schemaErrors(document, content.schema, await response.clone().json())]
}

/** Cached validators, by document and schema. Creating a validator takes much longer than using it. */
const validators = new WeakMap<OpenApiDocument, WeakMap<Schema, Validator>>()

function validatorOf(document: OpenApiDocument, schema: Schema): Validator {
  const whole = JSON.stringify({ ...schema, components: document.components }, withoutExamples)
  return new Validator(JSON.parse(whole) as Schema, '2020-12', false)
}

/** Returns the paths at which a value does not fit a schema of the description. */
export function schemaErrors(document: OpenApiDocument, schema: Schema, value: unknown): string[] {
  const ofDocument = validators.get(document) ?? new WeakMap<Schema, Validator>()
  validators.set(document, ofDocument)
  const validator = ofDocument.get(schema) ?? validatorOf(document, schema)
  ofDocument.set(schema, validator)
  return validator.validate(value).errors.map((error) => `${error.instanceLocation}: ${error.error}`)
}

/** Omits examples, because the validator would treat an example that has an `id` as a schema. */
const withoutExamples = (key: string, value: unknown): unknown => (key === 'example' ? undefined : value)

const templatePattern = (template: string): RegExp => new RegExp(`^${template.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`)
