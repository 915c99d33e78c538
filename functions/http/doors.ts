import type { App, AppDependencies } from './dependencies.ts'
import { problemResponse } from './middleware/error-response.ts'
import { refuseWhenStopping } from './middleware/stopping.ts'

/** Addresses that are exempt from API keys and from the guards of origin and host: each has a guard of its own. */
export function doorRoutes(app: App, dependencies: AppDependencies): void {
  for (const { path, open } of dependencies.doors ?? []) {
    app.use(path, refuseWhenStopping(dependencies))
    app.post(path, async (c) => {
      const opened = await open(c.req.raw)
      return opened instanceof Response ? opened : problemResponse(c, opened)
    })
  }
}
