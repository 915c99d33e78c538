import type { App, AppDependencies } from './dependencies.ts'
import { RequestError } from './middleware/request-error.ts'

/** Everything that Slack sends, at one address. Its signature stands in the place of an API key. */
export function slackRoutes(app: App, { slack }: AppDependencies): void {
  app.post('/slack/events', async (c) => {
    const response = await slack?.(c.req.raw)
    if (response === undefined) throw new RequestError(404, 'not_found', 'Slack is not set up here')
    if (response.status !== 200) throw new RequestError(response.status, CODES[response.status], response.reason)
    return response.body === undefined ? c.body(null, 200) : c.json(response.body)
  })
}

const CODES = { 400: 'malformed_body', 401: 'unauthorized', 503: 'slack_unavailable' } as const
