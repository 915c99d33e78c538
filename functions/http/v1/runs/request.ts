import { z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { sha256 } from '../../../domain/hash.ts'
import type { Submission } from '../../../agent/service/agent-service.ts'
import type { AppEnv } from '../../dependencies.ts'
import { location, problems, WRITE_PROBLEMS } from '../problem-responses.ts'
import { ServerSentEventSchema } from './event-schema.ts'
import { runHeaders } from '../messages/input-schema.ts'
import { RunSchema } from './schema.ts'

const prefer = z.string().optional().openapi({
  description: '`wait=n` waits at most n seconds (default 60, at most 240); `respond-async` does not wait.',
  example: 'wait=30',
})

/** Headers of a request that starts a run. */
export const startHeaders = runHeaders.extend({ prefer })
/** Headers of a request that resumes a run. */
export const resumeHeaders = z.object({ prefer })

/** The three kinds of response for a run. */
export const RUN_RESPONSES = {
  200: {
    description:
      'The run, ended or waiting for you, with its new messages; or, with `Accept: text/event-stream`, its events as they happen.',
    content: {
      'application/json': { schema: RunSchema },
      'text/event-stream': { schema: ServerSentEventSchema },
    },
  },
  202: {
    description: 'The run is accepted and still going on.',
    content: { 'application/json': { schema: RunSchema } },
    headers: location,
  },
  ...WRITE_PROBLEMS,
  ...problems(422),
} as const

/**
 * Returns the hashes of a request's idempotency key and content. The content's hash shows whether a request with a
 * known key is a repetition.
 */
export async function idempotencyOf(c: Context<AppEnv>): Promise<Pick<Submission, 'idempotency'>> {
  const key = c.req.header('idempotency-key')
  if (key === undefined) return {}
  const body = await c.req.text()
  return { idempotency: { keyHash: sha256(key), bodyHash: sha256(`${c.req.path}\n${body}`) } }
}
