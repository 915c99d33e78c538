import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { App, AppDependencies } from '../dependencies.ts'
import type { ApiDocument } from './document.ts'
import { RunEventSchema } from '../v1/schemas/event.ts'

/** Kept compressed: all readers share these bytes. */
interface Page {
  readonly zipped: Uint8Array<ArrayBuffer>
  readonly plain: Uint8Array<ArrayBuffer>
  readonly etag: string
  readonly policy: string
}

/** The API's description, and a page for people made from it. Nothing comes from another server. */
export function docsRoutes(app: App, { settings }: AppDependencies): void {
  app.openAPIRegistry.register('RunEvent', RunEventSchema)
  app.openAPIRegistry.registerComponent('securitySchemes', 'key', {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key (`tt_…`). Until one has been made, a server on your own machine needs none.',
  })
  const documents = new Map<string, ApiDocument>()
  function documentFor(open: boolean, base: string): ApiDocument {
    const name = `${open} ${base}`
    const document = documents.get(name) ?? describeApi(app, settings.version, open, base)
    documents.set(name, document)
    return document
  }
  app.get('/openapi.json', (c) => c.json(documentFor(c.get('open'), c.env?.base ?? '')))

  const pages = new Map<boolean, Page>()
  app.get('/docs', async (c) => {
    const open = c.get('open')
    const page = pages.get(open) ?? (await makePage(documentFor(open, ''), settings.docsFolder))
    pages.set(open, page)
    const { zipped, plain, etag, policy } = page
    const zip = /\bgzip\b/.test(c.req.header('accept-encoding') ?? '')
    const headers = {
      'content-security-policy': policy,
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'private, max-age=300',
      vary: 'accept-encoding',
      etag,
    }
    if (c.req.header('if-none-match')?.includes(etag) === true) return c.body(null, 304, headers)
    return c.body(zip ? zipped : plain, 200, zip ? { ...headers, 'content-encoding': 'gzip' } : headers)
  })
}

async function makePage(document: ApiDocument, folder: string | undefined): Promise<Page> {
  // What makes the page is loaded with its first reader.
  const { docsPage, docsPolicy, readPageAssets } = await import('./page.ts')
  const assets = await readPageAssets(folder)
  const page = await docsPage(document, assets)
  const etag = `W/"${createHash('sha256').update(page).digest('base64url').slice(0, 22)}"`
  const plain = new TextEncoder().encode(page)
  return { plain, zipped: new Uint8Array(gzipSync(plain)), etag, policy: docsPolicy(assets) }
}

function describeApi(app: App, version: string, openAccess: boolean, base: string): ApiDocument {
  const document = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Tooltrail',
      version,
      description: 'A durable agent backend: sessions, runs, a log that is never lost, and a search over it.',
      license: { name: 'Apache-2.0' },
    },
    ...(base === '' ? {} : { servers: [{ url: base }] }),
    ...(openAccess ? {} : { security: [{ key: [] }] }),
    tags: [
      'Sessions',
      'Messages',
      'Context',
      'Runs',
      'Search',
      'Usage',
      'Callbacks',
      'OpenAI',
      'AI SDK',
      'AG-UI',
      'Service',
    ].map((name) => ({
      name,
    })),
  })
  return document as unknown as ApiDocument // of which it has more: test/http/openapi.test.ts checks what the page reads
}
