import type { App, AppDependencies } from './dependencies.ts'
import { withinBudget } from './middleware/body-budget.ts'
import type { BodyBudget } from './middleware/body-budget.ts'
import { problemResponse } from './middleware/error-response.ts'
import { refuseWhenStopping } from './middleware/stopping.ts'

/** Addresses that are exempt from API keys and from the guards of origin and host: each has a guard of its own. */
export function serviceRoutes(app: App, dependencies: AppDependencies, budget: BodyBudget): void {
  for (const { path, open } of dependencies.endpoints ?? []) {
    app.use(path, refuseWhenStopping(dependencies))
    app.post(path, async (c) => {
      const { raw } = c.req
      // Who sends is known only when all has come: those that nobody knows share one room.
      const body = raw.body && withinBudget(raw.body, budget.enter(path, c.req.header('content-length')))
      const opened = await open(new Request(raw, { body, duplex: 'half' }))
      return opened instanceof Response ? opened : problemResponse(c, opened)
    })
  }
}
