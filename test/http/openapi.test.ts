/* Evidence, api: Every body field that may be null is described and typed as nullable. */
import { OpenAPIHono, z } from '@hono/zod-openapi'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { schemaErrors } from './conformance.ts'
import type { OpenApiDocument, Operation } from './conformance.ts'
import { openHttpHarness } from './harness.ts'
import type { HttpHarness } from './harness.ts'

let harness: HttpHarness
let document: OpenApiDocument
beforeAll(async () => {
  harness = await openHttpHarness()
  ;({ document } = harness)
})
afterAll(() => harness.close())

const operations = (): { path: string; method: string; operation: Operation }[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )

/** Finds every value under `key`, at any depth. */
function collect(value: unknown, key: string): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value as object).flatMap(([name, inner]: [string, unknown]) => [
    ...(name === key ? [inner] : []),
    ...collect(inner, key),
  ])
}

/** The paths of all array schemas without `items`. */
function arraysWithoutItems(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return []
  const { type, items } = value as { readonly type?: unknown; readonly items?: unknown }
  const here = [type].flat().includes('array') && items === undefined ? [path] : []
  return [...here, ...Object.entries(value).flatMap(([name, inner]) => arraysWithoutItems(inner, `${path}/${name}`))]
}

/** Every property of the objects of a schema, nested ones included, by its path. */
function propertiesIn(schema: unknown, path: string): [string, z.ZodType][] {
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([name, inner]) => [
      [`${path}.${name}`, inner],
      ...propertiesIn(inner, `${path}.${name}`),
    ])
  if (schema instanceof z.ZodArray) return propertiesIn(schema.element, `${path}[]`)
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => propertiesIn(option, path))
  const isWrapped = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault
  return isWrapped ? propertiesIn(schema.unwrap(), path) : []
}

describe('the OpenAPI document', () => {
  test('is OpenAPI 3.1 and has every route of the API', () => {
    expect(document.openapi).toBe('3.1.0')
    expect(
      operations()
        .map(({ method, path }) => `${method.toUpperCase()} ${path}`)
        .toSorted(),
    ).toEqual([
      'DELETE /openai/v1/conversations/{conversation}',
      'DELETE /openai/v1/conversations/{conversation}/items/{item}',
      'DELETE /openai/v1/responses/{response}',
      'DELETE /v1/sessions/{session}',
      'GET /healthz',
      'GET /openai/v1/conversations/{conversation}',
      'GET /openai/v1/conversations/{conversation}/items',
      'GET /openai/v1/conversations/{conversation}/items/{item}',
      'GET /openai/v1/models',
      'GET /openai/v1/models/{model}',
      'GET /openai/v1/responses/{response}',
      'GET /openai/v1/responses/{response}/input_items',
      'GET /v1/callbacks',
      'GET /v1/chat/{chat}',
      'GET /v1/chat/{chat}/stream',
      'GET /v1/deletions/{deletion}',
      'GET /v1/search',
      'GET /v1/sessions',
      'GET /v1/sessions/{session}',
      'GET /v1/sessions/{session}/context',
      'GET /v1/sessions/{session}/export',
      'GET /v1/sessions/{session}/messages',
      'GET /v1/sessions/{session}/messages/{message}/output',
      'GET /v1/sessions/{session}/runs',
      'GET /v1/sessions/{session}/runs/{run}',
      'GET /v1/sessions/{session}/runs/{run}/events',
      'GET /v1/sessions/{session}/sources',
      'GET /v1/usage',
      'PATCH /v1/sessions/{session}',
      'POST /openai/v1/chat/completions',
      'POST /openai/v1/conversations',
      'POST /openai/v1/conversations/{conversation}',
      'POST /openai/v1/conversations/{conversation}/items',
      'POST /openai/v1/responses',
      'POST /openai/v1/responses/input_tokens',
      'POST /openai/v1/responses/{response}/cancel',
      'POST /v1/ag-ui/{agent}',
      'POST /v1/callbacks/{callback}/redeliver',
      'POST /v1/chat',
      'POST /v1/sessions',
      'POST /v1/sessions/{session}/consolidate',
      'POST /v1/sessions/{session}/continue',
      'POST /v1/sessions/{session}/fork',
      'POST /v1/sessions/{session}/import',
      'POST /v1/sessions/{session}/messages',
      'POST /v1/sessions/{session}/runs/{run}/cancel',
      'POST /v1/sessions/{session}/runs/{run}/tool-results',
    ])
  })

  test('names each operation once, and each parameter of its path', () => {
    const ids = operations().map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    for (const { path, operation } of operations()) {
      const inPath = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path').map(({ name }) => name)
      expect(inPath.toSorted()).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name).toSorted())
      for (const response of Object.values(operation.responses)) expect(response.description).not.toBe('')
    }
  })

  test('marks every body field that may be null', () => {
    const properties = harness.program.app.openAPIRegistry.definitions.flatMap((definition) => {
      if (definition.type !== 'route') return []
      const content = definition.route.request?.body?.content['application/json']
      return content !== undefined && 'schema' in content ? propertiesIn(content.schema, definition.route.path) : []
    })
    const nullable = properties.filter(([, schema]) => schema.safeParse(null).success)
    expect(nullable.length).toBeGreaterThan(50)
    const app = new OpenAPIHono()
    for (const [index, [, schema]] of nullable.entries())
      app.openAPIRegistry.register(`One${index}`, z.object({ value: schema }))
    const info = { openapi: '3.1.0', info: { title: '', version: '' } }
    const described = app.getOpenAPI31Document(info) as unknown as OpenApiDocument
    const wrong = nullable.filter(
      (_, index) => schemaErrors(described, { $ref: `#/components/schemas/One${index}` }, { value: null }).length > 0,
    )
    // Null sources are refused by the handler.
    const refused = ['/v1/sessions/{session}/runs/{run}/tool-results.results[].sources']
    expect(wrong.map(([path]) => path)).toEqual(refused)
  })

  test('lists every query parameter that our own API accepts', () => {
    const taking = harness.program.app.openAPIRegistry.definitions.flatMap((definition) => {
      if (definition.type !== 'route' || !definition.route.path.startsWith('/v1/')) return []
      const { query } = definition.route.request ?? {}
      const issues = query?.safeParse({ q: 'x', unknown: '1' }).error?.issues ?? []
      const isStrict = query === undefined || issues.some(({ code }) => code === 'unrecognized_keys')
      return isStrict ? [] : [definition.route.path]
    })
    expect(taking).toEqual([])
  })

  test('refers only to its own components', () => {
    for (const reference of collect(document, '$ref')) {
      const name = /^#\/components\/schemas\/(\w+)$/.exec(String(reference))?.[1]
      expect(Object.keys(document.components.schemas)).toContain(name)
    }
  })

  test('names a server, and says that a key is optional until the first key exists', async () => {
    expect(document).toMatchObject({ servers: [{ url: '/' }], security: [{}, { key: [] }] })
    const keyed = await openHttpHarness()
    await keyed.key()
    const response = await keyed.send('GET', '/openapi.json')
    expect(await response.json()).toMatchObject({ security: [{ key: [] }] })
    await keyed.close()
  })

  test('has items for every array, and no schema with the name of a browser type', () => {
    expect(arraysWithoutItems(document)).toEqual([])
    expect(Object.keys(document.components.schemas).filter((name) => name in globalThis)).toEqual([])
  })

  test('describes bodies only in content types that client generators support', () => {
    const types = operations().flatMap(({ operation }) => Object.keys(operation.requestBody?.content ?? {}))
    expect(new Set(types)).toEqual(new Set(['application/json']))
    const unreadable = operations().flatMap(({ operation: { operationId, responses } }) =>
      Object.entries(responses)
        .filter(([, { content }]) => content !== undefined && Object.keys(content)[0] === '*/*')
        .map(([status]) => `${operationId} ${status}`),
    )
    expect(unreadable).toEqual([])
  })

  test('uses the JSON Schema of 3.1: no nullable, no boolean exclusive limits', () => {
    expect(collect(document, 'nullable')).toEqual([])
    for (const limit of [...collect(document, 'exclusiveMinimum'), ...collect(document, 'exclusiveMaximum')])
      expect(limit).toBeTypeOf('number')
    for (const pattern of collect(document, 'pattern')) expect(() => new RegExp(String(pattern), 'u')).not.toThrow()
  })

  test('gives a valid example of every body', () => {
    for (const { operation } of operations()) {
      const contents = [
        operation.requestBody?.content,
        ...Object.values(operation.responses).map(({ content }) => content),
      ]
      for (const content of contents) {
        const schema = content?.['application/json']?.schema
        if (schema === undefined) continue
        const name = /\/(\w+)$/.exec(schema.$ref ?? '')?.[1] ?? ''
        const { example } = (document.components.schemas[name] ?? {}) as { example?: unknown }
        if (name.endsWith('Page') || name === '') continue
        expect(example, `${operation.operationId} ${name}`).toBeDefined()
        expect(schemaErrors(document, schema, example)).toEqual([])
      }
    }
  })

  test('declares for every operation that a problem document may be the response', () => {
    for (const { path, operation } of operations().filter((entry) => entry.path.startsWith('/v1/')))
      for (const status of ['400', '401', '403', '404', '429', '500', '503'])
        expect(Object.keys(operation.responses[status]?.content ?? {}), `${path} ${status}`).toEqual([
          'application/problem+json',
        ])
  })
})

describe('health', () => {
  test('reports that the storage does not respond', async () => {
    const failing = await openHttpHarness({
      change: (ports) => {
        let calls = 0
        const any = (): Promise<boolean> => (calls++ === 0 ? Promise.resolve(false) : Promise.reject(new Error('gone')))
        return { ...ports, keys: { ...ports.keys, any } }
      },
    })
    try {
      const response = await failing.send('GET', '/healthz')
      expect(response.status).toBe(503)
      expect(await response.json()).toEqual({ status: 'failing', version: '0.0.0', storage: 'failing' })
    } finally {
      await failing.close()
    }
  })
})
