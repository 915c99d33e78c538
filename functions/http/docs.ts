import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Scalar } from '@scalar/hono-api-reference'
import type { App, AppDependencies, AppEnv } from './dependencies.ts'
import { RunEventSchema } from './v1/schemas/event.ts'

const SCRIPT = '/docs/scalar.js'
/** Of the page: whatever stands before its path stays. */
const relative = (path: string): string => path.slice(1)

/** The API's description, and pages for people made from it; nothing comes from another server. */
export function docsRoutes(app: App, { settings }: AppDependencies): void {
  app.openAPIRegistry.register('RunEvent', RunEventSchema)
  app.openAPIRegistry.registerComponent('securitySchemes', 'key', {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key (`tt_…`). As long as none was made, a server on your own machine asks for none.',
  })
  const documents = new Map<string, object>()
  app.get('/openapi.json', (c) => {
    const [open, base] = [c.get('open'), c.env?.base ?? '']
    const document = documents.get(`${open} ${base}`) ?? describeApi(app, settings.version, open, base)
    documents.set(`${open} ${base}`, document)
    return c.json(document)
  })

  app.get('/docs', async (c, next) => {
    const nonce = randomBytes(16).toString('base64')
    c.header('content-security-policy', docsPolicy(nonce))
    return Scalar<AppEnv>({
      url: relative('/openapi.json'),
      cdn: relative(SCRIPT),
      nonce,
      pageTitle: 'Tooltrail API',
      withDefaultFonts: false,
      telemetry: false,
      // What these offer is done on other servers.
      agent: { disabled: true },
      mcp: { disabled: true },
      showDeveloperTools: 'never',
      hideClientButton: true,
    })(c, next)
  })

  let script: Promise<Buffer> | undefined
  app.get(SCRIPT, async (c) => {
    script ??= readFile(settings.docsScript ?? installedScript())
    return c.body(new Uint8Array(await script), 200, {
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=3600',
    })
  })
}

const installedScript = (): string =>
  join(dirname(createRequire(import.meta.url).resolve('@scalar/api-reference')), 'browser/standalone.js')

function describeApi(app: App, version: string, openAccess: boolean, base: string): object {
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Tooltrail',
      version,
      description: 'A durable agent backend: sessions, runs, a log that is never lost, and a search over it.',
      license: { name: 'Apache-2.0' },
    },
    ...(base === '' ? {} : { servers: [{ url: base }] }),
    ...(openAccess ? {} : { security: [{ key: [] }] }),
    tags: ['Sessions', 'Messages', 'Runs', 'Search', 'Service'].map((name) => ({ name })),
  })
}

/** The script makes its styles as it runs; everything else comes from this server. */
const docsPolicy = (nonce: string): string =>
  [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
