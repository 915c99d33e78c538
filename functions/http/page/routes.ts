import type { App, AppDependencies } from '../dependencies.ts'
import { problemResponse } from '../middleware/error-response.ts'
import { pageFiles } from './files.ts'

/** Addresses of the page's views. */
const VIEWS = ['/', '/new', '/sessions/:session/:view?', '/search', '/usage']

/** Serves the page. For an unknown address, a browser gets the page too, and a program gets a problem document. */
export function pageRoutes(app: App, { settings }: AppDependencies): void {
  const files = pageFiles(settings.pageFolder)
  for (const path of VIEWS) app.get(path, (c) => files.document(c))
  app.get('/assets/:file', (c) => files.asset(c, c.req.param('file')))
  app.notFound((c) =>
    /\btext\/html\b/i.test(c.req.header('accept') ?? '')
      ? files.nothing(c)
      : problemResponse(c, { status: 404, code: 'not_found', detail: 'there is nothing at this address' }),
  )
}
