import { z } from 'zod'
import type { ApiMethod, ApiSettings } from './api-gateway.ts'
import type { FunctionPool } from './function-pool.ts'
import type { Names } from '../template/intrinsics.ts'
import { resolve } from '../template/intrinsics.ts'

const RestApi = z.object({ BinaryMediaTypes: z.array(z.string()).default([]) })
const ApiResource = z.object({ ParentId: z.string(), PathPart: z.string() })
const Stage = z.object({ StageName: z.string() })
const Method = z.object({
  HttpMethod: z.string(),
  ResourceId: z.string(),
  AuthorizationType: z.literal('NONE'),
  ApiKeyRequired: z.literal(false).optional(),
  Integration: z.object({
    Type: z.literal('AWS_PROXY'),
    Uri: z.string(),
    ResponseTransferMode: z.literal('STREAM'),
    TimeoutInMillis: z.int(),
  }),
})

/** Reads the only REST API of the templates: its stage, and the function behind each method. */
export function readApi(names: Names, functions: ReadonlyMap<string, FunctionPool>): ApiSettings {
  const found = (type: string): { readonly ref: string; readonly properties: unknown }[] =>
    [...names.stacks].flatMap(([stack, { Resources }]) =>
      Object.entries(Resources)
        .filter(([, { Type }]) => Type === type)
        .map(([id, { Properties }]) => ({
          ref: names.ref(stack, id),
          properties: resolve(names, stack, Properties, `${id}.Properties`),
        })),
    )
  const only = (type: string): { readonly ref: string; readonly properties: unknown } => {
    const [one, ...others] = found(type)
    if (one === undefined || others.length > 0) throw new Error(`the templates have not exactly one ${type}`)
    return one
  }
  const resources = new Map(
    found('AWS::ApiGateway::Resource').map(({ ref, properties }) => [ref, ApiResource.parse(properties)]),
  )
  const pathOf = (id: string): string => {
    const resource = resources.get(id)
    return resource === undefined ? '' : `${pathOf(resource.ParentId)}/${resource.PathPart}`
  }
  const api = only('AWS::ApiGateway::RestApi')
  return {
    apiId: api.ref,
    stage: Stage.parse(only('AWS::ApiGateway::Stage').properties).StageName,
    binaryMediaTypes: RestApi.parse(api.properties).BinaryMediaTypes,
    methods: methodsOf(
      found('AWS::ApiGateway::Method').map(({ properties }) => Method.parse(properties)),
      pathOf,
      functions,
    ),
  }
}

function methodsOf(
  methods: readonly z.output<typeof Method>[],
  pathOf: (id: string) => string,
  functions: ReadonlyMap<string, FunctionPool>,
): ApiMethod[] {
  return methods.map(({ HttpMethod, ResourceId, Integration: { Uri, TimeoutInMillis } }) => {
    // A streaming function has a separate invocation address.
    const arn = /\/functions\/(arn:aws:lambda:[^/]+)\/response-streaming-invocations$/.exec(Uri)?.[1]
    const pool = functions.get(arn ?? '')
    if (pool === undefined) throw new Error(`no function behind ${Uri}`)
    return { method: HttpMethod, path: pathOf(ResourceId) || '/', pool, timeoutMs: TimeoutInMillis }
  })
}
