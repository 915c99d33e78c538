import { createHash, createHmac } from 'node:crypto'

export interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

interface Unsigned {
  readonly method: string
  /** Without a query: this adapter's requests have none. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

interface Signer {
  readonly region: string
  readonly service: string
  readonly credentials: Credentials
}

/**
 * The headers of a request with those that sign it, by AWS Signature Version 4 over all of them and the body
 * (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html).
 */
export function signedHeaders(
  { method, path, headers, body }: Unsigned,
  { region, service, credentials }: Signer,
  now = new Date(),
): Record<string, string> {
  const time = now.toISOString().replaceAll(/[-:]|\.\d{3}/g, '')
  const bodyHash = sha256(body)
  const all: Record<string, string> = {
    ...headers,
    'x-amz-date': time,
    // OpenSearch Serverless refuses requests without it.
    'x-amz-content-sha256': bodyHash,
    ...(credentials.sessionToken === undefined ? {} : { 'x-amz-security-token': credentials.sessionToken }),
  }
  const names = Object.keys(all).toSorted()
  const canonicalHeaders = names.map((name) => `${name}:${all[name]?.trim()}\n`).join('')
  const canonical = [method, canonicalPath(path), '', canonicalHeaders, names.join(';'), bodyHash].join('\n')
  const scope = [time.slice(0, 8), region, service, 'aws4_request']
  const key = scope.reduce<string | Buffer>(hmac, `AWS4${credentials.secretAccessKey}`)
  const signature = hmac(key, ['AWS4-HMAC-SHA256', time, scope.join('/'), sha256(canonical)].join('\n')).toString('hex')
  const credential = `Credential=${credentials.accessKeyId}/${scope.join('/')}`
  return {
    ...all,
    authorization: `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  }
}

/** Each segment escaped once more than it is sent, RFC 3986's reserved characters as well. */
const canonicalPath = (path: string): string =>
  path
    .split('/')
    .map((segment) =>
      encodeURIComponent(segment).replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`),
    )
    .join('/')

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
