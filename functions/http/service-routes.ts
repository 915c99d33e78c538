import type { App, AppDependencies } from './dependencies.ts'
import { inRoom } from './middleware/body-budget.ts'
import type { BodyRoom } from './middleware/body-budget.ts'
import { problemResponse } from './middleware/error-response.ts'
import { refuseWhenStopping } from './middleware/stopping.ts'

/** Addresses that are exempt from API keys and from the guards of origin and host: each has a guard of its own. */
export function doorRoutes(app: App, dependencies: AppDependencies, room: BodyRoom): void {
  for (const { path, open } of dependencies.doors ?? []) {
    app.use(path, refuseWhenStopping(dependencies))
    app.post(path, async (c) => {
      const { raw } = c.req
      // Who sends is known only when all has come: those that nobody knows share one room.
      const body = raw.body && inRoom(raw.body, room.enter(path, c.req.header('content-length')))
      const opened = await open(new Request(raw, { body, duplex: 'half' }))
      return opened instanceof Response ? opened : problemResponse(c, opened)
    })
  }
}
