import type { App, AppDependencies } from '../dependencies.ts'

/** Addresses of the page's views. */
const VIEWS = ['/', '/sessions/:session/:view?', '/search', '/usage']

/** The page for people. Its files are read when somebody asks for them. */
export function pageRoutes(app: App, { settings }: AppDependencies): void {
  const files = async () => (await import('./files.ts')).pageFiles(settings.pageFolder)
  for (const path of VIEWS) app.get(path, async (c) => (await files()).document(c))
  app.get('/assets/:file', async (c) => (await files()).asset(c, c.req.param('file')))
}
