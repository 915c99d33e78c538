import { request } from 'node:http'

/** A well-formed id that is never used. */
export const UNKNOWN = '01JD2Q8N4T6W8Y0A2C4E6G8J0K'
/** Malformed ids in a path. No resource can have one of them. */
export const HOSTILE_IDS = [
  ...[
    '..',
    '%2e%2e',
    '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
    '..%5c..%5c',
    '%00',
    'a%00b',
    '%ff%fe',
    '%',
    '%zz',
    '%20',
    '-a',
    '.a',
  ],
  ...['a%2fb', 'a%3fb', '%F0%9F%98%80', '%E4%BD%A0', "'%20OR%201=1--", '__proto__', 'constructor', 'a'.repeat(10_240)],
]
const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
/** Bodies that are not JSON objects. */
export const MALFORMED_BODIES: readonly (string | Uint8Array)[] = [
  ...[
    '',
    '{',
    'null',
    '[]',
    '"text"',
    '1',
    'undefined',
    '{"content":}',
    '{"a":1',
    deep(10_000),
    '{"__proto__":{"a":1}}',
  ],
  Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
]

export interface Sent {
  readonly status: number
  readonly type: string
  readonly text: string
}

/** Sends a request without changing its path: `fetch` would normalize the path. */
export function send(
  url: string,
  method: string,
  path: string,
  headers: object,
  body?: string | Uint8Array,
): Promise<Sent> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, method, path, headers: { connection: 'close', ...headers } }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          type: response.headers['content-type'] ?? '',
          text: Buffer.concat(chunks).toString(),
        }),
      )
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Decodes a path segment. Returns it unchanged if it is malformed. */
export function decode(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}
