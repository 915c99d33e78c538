import { PassThrough } from 'node:stream'
import type { Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { APIGatewayProxyEvent, Context } from 'aws-lambda'
import type { StreamingHandler } from '../../../functions/runtime/lambda/streaming.ts'

interface Prelude {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>
  readonly cookies: readonly string[]
}

export interface Streamed {
  readonly prelude: Prelude
  readonly body: Buffer
}

/** Bytes between the body and the JSON with the status and headers. */
const SEPARATOR = Buffer.alloc(8)

/** Sets Lambda's global, which writes status and headers with the first write, like Lambda's runtime client. */
export function putLambdaGlobal(): void {
  Object.assign(globalThis, {
    awslambda: {
      streamifyResponse: (handler: unknown) => handler,
      HttpResponseStream: {
        from(stream: Writable, prelude: Prelude) {
          const write = stream.write.bind(stream) as (bytes: string | Uint8Array) => boolean
          stream.write = (bytes: string | Uint8Array): boolean => {
            stream.write = write
            write(JSON.stringify(prelude))
            write(SEPARATOR)
            return write(bytes)
          }
          return stream
        },
      },
    },
  })
}

/** Removes the global. */
export const removeLambdaGlobal = (): void => void Reflect.deleteProperty(globalThis, 'awslambda')

/** An event of the REST API for a path. */
export const eventOf = (path: string, fields: Partial<APIGatewayProxyEvent> = {}): APIGatewayProxyEvent =>
  ({
    resource: '/{proxy+}',
    httpMethod: 'GET',
    path,
    pathParameters: { proxy: path.slice(1) },
    requestContext: { path: `/live${path}`, domainName: 'api.example.com' },
    headers: {},
    multiValueHeaders: {},
    queryStringParameters: null,
    multiValueQueryStringParameters: null,
    body: null,
    isBase64Encoded: false,
    ...fields,
  }) as APIGatewayProxyEvent

/** Returns the response for the event. Throws if the response has no status and headers: API Gateway would answer 500. */
export async function streamed(handler: StreamingHandler, event: APIGatewayProxyEvent): Promise<Streamed> {
  const stream = new PassThrough()
  const sent = buffer(stream)
  await handler(event, stream, {} as Context)
  const bytes = await sent
  const at = bytes.indexOf(SEPARATOR)
  if (at < 0) throw new Error(`no status and headers, but ${JSON.stringify(bytes.toString())}`)
  return {
    prelude: JSON.parse(bytes.subarray(0, at).toString()) as Prelude,
    body: bytes.subarray(at + SEPARATOR.byteLength),
  }
}
