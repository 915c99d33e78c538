import { OpenAPIHono } from '@hono/zod-openapi'
import { createKeyUse } from '../access/key-use.ts'
import { createOpenRequests } from '../access/open-requests.ts'
import { cors } from 'hono/cors'
import { methodNotAllowed } from 'hono/method-not-allowed'
import { authentication } from './middleware/authentication.ts'
import type { App, AppDependencies, AppEnv } from './dependencies.ts'
import { createBodyBudget } from './middleware/body-budget.ts'
import { errorResponse, refuseMethod } from './middleware/error-response.ts'
import { headOnly } from './middleware/head.ts'
import { originGuard } from './middleware/origin-guard.ts'
import { requestBody } from './middleware/request-body.ts'
import { refuseWhenStopping } from './middleware/stopping.ts'
import { wellFormedBodies } from './middleware/well-formed-bodies.ts'
import { requestLog } from './middleware/request-log.ts'
import { createBuilds } from './streaming/document-queue.ts'
import { callbackRoutes } from './v1/callbacks/routes.ts'
import { contextRoutes } from './v1/context/routes.ts'
import { deletionRoutes } from './v1/sessions/deletions.ts'
import { chatCompletionRoutes } from './openai/chat/routes.ts'
import { conversationRoutes } from './openai/conversations/routes.ts'
import { responseRoutes } from './openai/responses/routes.ts'
import { modelRoutes } from './openai/models.ts'
import { agUiRoutes } from './ag-ui/routes.ts'
import { chatRoutes } from './ai-sdk/routes.ts'
import { docsRoutes } from './docs/routes.ts'
import { healthRoutes, mcpRoutes, serviceRoutes } from './service-routes.ts'
import { createImageBudget } from './v1/messages/incoming-images.ts'
import { messageRoutes } from './v1/messages/routes.ts'
import { outputRoutes } from './v1/outputs/routes.ts'
import { runRoutes } from './v1/runs/routes.ts'
import { searchRoutes } from './v1/search/routes.ts'
import { pageRoutes } from './page/routes.ts'
import { sessionRoutes } from './v1/sessions/routes.ts'
import { sourceRoutes } from './v1/sources/routes.ts'
import { transferRoutes } from './v1/transfer/routes.ts'
import { usageRoutes } from './v1/usage/routes.ts'
import { refuseInvalid } from './middleware/validation.ts'

/** Response headers that pages of other origins may read. */
const HEADERS_FOR_PAGES = [
  'Location',
  'X-Session-Id',
  'X-Run-Id',
  'Preference-Applied',
  'Retry-After',
  // Without this header, OpenAI's SDKs retry errors that must not be retried.
  'X-Should-Retry',
  'X-Request-Id',
  'Content-Range',
  'Accept-Ranges',
  'ETag',
]
/** Creates the HTTP API over a composed backend. Every error response is a problem document. */
export function createApp(dependencies: AppDependencies): App {
  const { settings, log } = dependencies
  const app: App = new OpenAPIHono<AppEnv>({ defaultHook: refuseInvalid })
  app.onError((error, c) => errorResponse(error, c, log))

  app.use(requestLog(dependencies), headOnly(), wellFormedBodies())
  // The health check is registered first: it must respond even if the storage fails. All other routes need the storage.
  healthRoutes(app, dependencies)
  const budget = createBodyBudget()
  serviceRoutes(app, dependencies)
  app.use(originGuard(dependencies))
  if (settings.corsOrigins.length > 0)
    app.use(
      cors({
        origin: settings.corsOrigins.includes('*') ? '*' : [...settings.corsOrigins],
        allowMethods: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
        // The empty list allows all headers, because SDKs add their own. This is safe, because browsers by themselves add
        // no header that authenticates a caller.
        allowHeaders: [],
        exposeHeaders: HEADERS_FOR_PAGES,
        maxAge: 600,
      }),
    )
  app.use(methodNotAllowed({ app, onMethodNotAllowed: refuseMethod }))
  const body = requestBody(budget)
  const access = { ...dependencies, keyUse: createKeyUse(dependencies) }
  app.use('/v1/*', authentication(access), refuseWhenStopping(dependencies), body)
  app.use('/openai/v1/*', authentication(access), refuseWhenStopping(dependencies), body)
  // All MCP requests only read data, although each of them is a POST. So they need only the scope `read`.
  app.use('/mcp', authentication(access, 'read'), refuseWhenStopping(dependencies), body)

  const parts = {
    ...dependencies,
    calls: createOpenRequests(dependencies),
    builds: createBuilds(),
    imageBudget: createImageBudget(),
  }
  sessionRoutes(app, parts)
  messageRoutes(app, parts)
  contextRoutes(app, parts)
  sourceRoutes(app, parts)
  outputRoutes(app, parts)
  transferRoutes(app, parts)
  runRoutes(app, parts)
  deletionRoutes(app, dependencies)
  searchRoutes(app, parts)
  usageRoutes(app, dependencies)
  callbackRoutes(app, dependencies)
  mcpRoutes(app, parts)
  modelRoutes(app, dependencies)
  chatCompletionRoutes(app, parts)
  responseRoutes(app, parts)
  conversationRoutes(app, parts)
  chatRoutes(app, parts)
  agUiRoutes(app, parts)
  app.get('/docs/', (c) => c.redirect('/docs'))
  docsRoutes(app, dependencies)
  pageRoutes(app, dependencies)
  return app
}
