import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Context } from 'hono'
import type { AppEnv } from '../dependencies.ts'
import { problemResponse } from '../middleware/error-response.ts'

/** Where `npm run build` puts it. */
const BUILT = resolve(import.meta.dirname, '../../../built/page')
const TYPES: { readonly [extension: string]: string } = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}
/** Only its own script and style, and only its own server: what a tool has put out cannot reach anywhere. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

interface File {
  readonly plain: Uint8Array<ArrayBuffer>
  readonly zipped: Uint8Array<ArrayBuffer>
  readonly etag: string
}
export interface PageFiles {
  document(c: Context<AppEnv>): Promise<Response>
  asset(c: Context<AppEnv>, name: string): Promise<Response>
}

const kept = new Map<string, PageFiles>()

/** The page's files in a folder, each read and compressed once. */
export function pageFiles(folder = BUILT): PageFiles {
  const known = kept.get(folder)
  if (known !== undefined) return known
  const files = createFiles(folder)
  kept.set(folder, files)
  return files
}

function createFiles(folder: string): PageFiles {
  const read = new Map<string, Promise<File>>()
  const once = (name: string, make: () => Promise<string | Uint8Array>): Promise<File> => {
    const file = read.get(name) ?? make().then(prepared)
    read.set(name, file)
    // What could not be read is read again.
    file.catch(() => read.delete(name))
    return file
  }
  let names: Promise<readonly string[]> | undefined
  return {
    async document(c) {
      const base = c.env?.base ?? ''
      const file = await once(`${base}/`, async () =>
        (await readFile(join(folder, 'index.html'), 'utf8')).replace('<base href="/"', `<base href="${base}/"`),
      )
      const headers = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY }
      return respond(c, file, { ...headers, 'cache-control': 'no-cache' })
    },
    async asset(c, name) {
      names ??= readdir(join(folder, 'assets'))
      const type = TYPES[extname(name)]
      if (type === undefined || !(await names).includes(name))
        return problemResponse(c, { status: 404, code: 'not_found', detail: 'there is nothing at this address' })
      const file = await once(name, () => readFile(join(folder, 'assets', name)))
      return respond(c, file, { 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable' })
    },
  }
}

async function prepared(content: string | Uint8Array): Promise<File> {
  const plain = typeof content === 'string' ? new TextEncoder().encode(content) : new Uint8Array(content)
  const zipped = new Uint8Array(await promisify(gzip)(plain))
  return { plain, zipped, etag: `W/"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"` }
}

function respond(c: Context<AppEnv>, { plain, zipped, etag }: File, more: Record<string, string>): Response {
  const headers = { ...more, etag, vary: 'accept-encoding' }
  if (c.req.header('if-none-match')?.includes(etag) === true) return c.body(null, 304, headers)
  const zip = /\bgzip\b/.test(c.req.header('accept-encoding') ?? '')
  return c.body(zip ? zipped : plain, 200, zip ? { ...headers, 'content-encoding': 'gzip' } : headers)
}
