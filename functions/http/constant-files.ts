import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Context } from 'hono'
import { sha256 } from '../domain/hash.ts'
import type { AppEnv } from './dependencies.ts'

interface Content {
  readonly content: string | Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

/** A file that does not change while the program runs, plain and compressed. All readers share these bytes. */
export interface ConstantFile {
  readonly plain: Uint8Array<ArrayBuffer>
  readonly zipped: Uint8Array<ArrayBuffer>
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Creates a cache of files by name. Concurrent requests for a file share one build. A failed build is repeated with the
 * next request.
 */
export function createConstantFiles(): (name: string, make: () => Content | Promise<Content>) => Promise<ConstantFile> {
  const files = new Map<string, Promise<ConstantFile>>()
  return (name, make) => {
    const known = files.get(name)
    if (known !== undefined) return known
    const file = prepared(make)
    files.set(name, file)
    // This handler only forgets the failed build. The caller gets the error from the returned promise.
    file.catch(() => files.delete(name))
    return file
  }
}

async function prepared(make: () => Content | Promise<Content>): Promise<ConstantFile> {
  const { content, headers } = await make()
  const plain = typeof content === 'string' ? new TextEncoder().encode(content) : new Uint8Array(content)
  const zipped = new Uint8Array(await promisify(gzip)(plain))
  const etag = `W/"${sha256(plain, 'base64url').slice(0, 22)}"`
  return { plain, zipped, headers: { ...headers, etag, vary: 'accept-encoding' } }
}

/** Sends a file, compressed if the client accepts that. Responds 304 if the client already has it. */
export function sendFile(c: Context<AppEnv>, { plain, zipped, headers }: ConstantFile): Response {
  if (c.req.header('if-none-match')?.includes(headers['etag'] ?? '') === true) return c.body(null, 304, headers)
  const zip = /\bgzip\b/.test(c.req.header('accept-encoding') ?? '')
  return c.body(zip ? zipped : plain, 200, zip ? { ...headers, 'content-encoding': 'gzip' } : headers)
}
