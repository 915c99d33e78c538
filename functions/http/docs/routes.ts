import type { App, AppDependencies } from '../dependencies.ts'
import { createConstantFiles, sendFile } from '../constant-files.ts'
import type { ApiDocument } from './document.ts'
import { RunEventSchema } from '../v1/runs/event-schema.ts'
import { jsonText } from '../../log/json/well-formed.ts'

/** Serves the API's OpenAPI document, and a page made from it. Nothing is loaded from other servers. */
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
  const files = createConstantFiles()
  app.get('/openapi.json', async (c) => {
    const { open, base } = { open: c.get('open'), base: c.env?.base ?? '' }
    const headers = { 'content-type': 'application/json' }
    const make = () => ({ content: jsonText(documentFor(open, base)), headers })
    return sendFile(c, await files(`document ${open} ${base}`, make))
  })
  app.get('/docs', async (c) => {
    const open = c.get('open')
    const make = () => makePage(documentFor(open, ''), settings.docsFolder)
    return sendFile(c, await files(`page ${open}`, make))
  })
}

async function makePage(document: ApiDocument, folder: string | undefined) {
  // The page's module is imported with the first request for the page.
  const { docsPage, docsPolicy, readPageAssets } = await import('./page.ts')
  const assets = await readPageAssets(folder)
  const headers = {
    'content-security-policy': docsPolicy(assets),
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'private, max-age=300',
  }
  return { content: await docsPage(document, assets), headers }
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
    servers: [{ url: base === '' ? '/' : base }],
    // The empty object means that no key is needed. A request with a key is accepted as well.
    security: openAccess ? [{}, { key: [] }] : [{ key: [] }],
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
  // The document has more fields than the type; test/http/openapi.test.ts checks those that the page reads.
  return withoutLines(document as unknown as ApiDocument)
}

/**
 * Removes JSON lines from the request bodies in the document. Client generators cannot send JSON lines, and omit a body
 * that allows them. So only the JSON form of such a body is described.
 */
function withoutLines(document: ApiDocument): ApiDocument {
  for (const operation of Object.values(document.paths).flatMap((methods) => Object.values(methods)))
    if (operation.requestBody !== undefined)
      delete (operation.requestBody.content as { [mediaType: string]: unknown })['application/x-ndjson']
  return document
}
