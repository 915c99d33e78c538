import { readdir, readFile } from 'node:fs/promises'
import { extname, join, resolve } from 'node:path'
import type { Context } from 'hono'
import type { AppEnv } from '../dependencies.ts'
import { createConstantFiles, sendFile, type ConstantFile } from '../constant-files.ts'

/** The output folder of `npm run build`. */
const BUILT = resolve(import.meta.dirname, '../../../built/page')
const TYPES: { readonly [extension: string]: string } = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}
/**
 * Content security policy of the page. It allows only the page's own script and style. The page can send requests only
 * to its own server. So a tool's output on the page cannot contact other servers.
 */
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

export interface PageFiles {
  document(c: Context<AppEnv>): Promise<Response>
  /** Responds with the page and status 404. The page shows that the address is unknown. */
  nothing(c: Context<AppEnv>): Promise<Response>
  asset(c: Context<AppEnv>, name: string): Promise<Response>
}

interface Contents {
  readonly document: string
  readonly assets: ReadonlyMap<string, Uint8Array>
}

const kept = new Map<string, PageFiles>()

/**
 * Creates a reader of the page's files in a folder. All files are read together, so that the document never names a
 * script that an upgrade has replaced. Each file is compressed once, with its first request.
 */
export function pageFiles(folder = BUILT): PageFiles {
  const known = kept.get(folder)
  if (known !== undefined) return known
  const files = createFiles(folder)
  kept.set(folder, files)
  return files
}

function createFiles(folder: string): PageFiles {
  const once = createConstantFiles()
  let reading = readAll(folder)
  // Prevents an unhandled rejection. Each caller gets the error from its own `await`.
  reading.catch(() => undefined)
  async function contents(): Promise<Contents> {
    try {
      return await reading
    } catch {
      // After a failed read, the files are read again.
      return await (reading = readAll(folder))
    }
  }
  const headers = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY }
  async function documentFor(base: string): Promise<ConstantFile> {
    const { document } = await contents()
    const content = document.replace('<base href="/"', `<base href="${base}/"`)
    return once(`${base}/`, () => ({ content, headers: { ...headers, 'cache-control': 'no-cache' } }))
  }
  return {
    async document(c) {
      return sendFile(c, await documentFor(c.env?.base ?? ''))
    },
    async nothing(c) {
      return c.body((await documentFor(c.env?.base ?? '')).plain, 404, { ...headers, vary: 'accept' })
    },
    async asset(c, name) {
      const type = TYPES[extname(name)]
      const content = (await contents()).assets.get(name)
      if (type === undefined || content === undefined) return c.notFound()
      const unchanging = { 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable' }
      return sendFile(c, await once(name, () => ({ content, headers: unchanging })))
    },
  }
}

/** Reads all files of the page. Throws if an upgrade replaces them during the read. */
async function readAll(folder: string): Promise<Contents> {
  const document = await readFile(join(folder, 'index.html'), 'utf8')
  const names = await readdir(join(folder, 'assets'))
  const missing = [...document.matchAll(/"\.\/assets\/([^"]+)"/g)].find(([, name = '']) => !names.includes(name))
  if (missing !== undefined) throw new Error(`the page names a file that is not there: ${missing[1]}`)
  const read = names.map(async (name) => [name, await readFile(join(folder, 'assets', name))] as const)
  return { document, assets: new Map(await Promise.all(read)) }
}
