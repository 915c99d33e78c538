import type { APIGatewayProxyEvent } from 'aws-lambda'

/**
 * Returns the request of a proxy event, with the app's own path. Throws if the event cannot be converted to a
 * `Request`.
 */
export function requestOf(event: APIGatewayProxyEvent, path: string): Request {
  const url = new URL(`https://${event.requestContext.domainName ?? 'localhost'}`)
  url.pathname = path
  for (const [name, values] of Object.entries(event.multiValueQueryStringParameters ?? {}))
    for (const value of values ?? []) url.searchParams.append(name, value)
  const headers = new Headers()
  for (const [name, values] of Object.entries(event.multiValueHeaders ?? {}))
    for (const value of values ?? []) headers.append(name, bytesAsLatin1(value))
  const { httpMethod: method, body } = event
  // The constructor of `Request` rejects a body for GET and HEAD, so such a body is dropped.
  if (body === null || method === 'GET' || method === 'HEAD') return new Request(url, { method, headers })
  const bytes = Buffer.from(body, event.isBase64Encoded ? 'base64' : 'utf8')
  headers.set('content-length', String(bytes.byteLength))
  return new Request(url, { method, headers, body: bytes })
}

/** Decodes a non-ASCII header in the way that Node does, so that the app reads equal text locally and on Lambda. */
const bytesAsLatin1 = (value: string): string => Buffer.from(value, 'utf8').toString('latin1')

/**
 * Splits an address into its base and the app's path. In the API's own address, the base is the stage. In a custom
 * domain's address, the base is the domain's base path. The event's `path` contains the base path too.
 */
export function placeOf(event: Pick<APIGatewayProxyEvent, 'path' | 'pathParameters' | 'requestContext' | 'resource'>): {
  readonly base: string
  readonly path: string
} {
  // Completes the path of a resource such as `/v1/{proxy+}`. The replacement is a function, so that `$` in a path has
  // no special meaning.
  const route = event.resource.replace('{proxy+}', () => event.pathParameters?.['proxy'] ?? '')
  const mapping = beginning(event.path, route)
  return { base: beginning(event.requestContext.path, route), path: event.path.slice(mapping.length) || '/' }
}

/** Returns the part of `path` before `route`. API Gateway has decoded `route`, but not `path`. */
function beginning(path: string, route: string): string {
  const whole = trimmed(decode(path))
  // A base consists of letters, digits and `_.-`, so decoding does not change its length.
  return whole.endsWith(trimmed(route)) ? path.slice(0, whole.length - trimmed(route).length) : ''
}

const trimmed = (path: string): string => (path.endsWith('/') ? path.slice(0, -1) : path)

function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
