import type { App, AppDependencies } from './dependencies.ts'
import { problemResponse } from './middleware/error-response.ts'
import { refuseWhenStopping } from './middleware/stopping.ts'
import { createUnsignedBodies } from './middleware/unsigned-bodies.ts'

/** Addresses that are exempt from API keys and from the guards of origin and host: each has a guard of its own. */
export function serviceRoutes(app: App, dependencies: AppDependencies): void {
  const bodies = createUnsignedBodies()
  for (const { path, open } of dependencies.endpoints ?? []) {
    app.use(path, refuseWhenStopping(dependencies))
    app.post(path, async (c) => {
      const { raw } = c.req
      const origin = { endpoint: c.req.path, sender: c.env?.incoming?.socket.remoteAddress }
      const body = raw.body && bodies.read(raw.body, origin)
      const opened = await open(new Request(raw, { body, duplex: 'half' }))
      return opened instanceof Response ? opened : problemResponse(c, opened)
    })
  }
}
