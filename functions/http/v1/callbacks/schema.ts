import { z } from '@hono/zod-openapi'
import { page, pageLimit, sessionId, time, ulid } from '../fields.ts'

const ID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}(?:\.[1-9][0-9]{0,5})?$/
/** Prefix of this list's cursors. Without it, a callback's id could be mistaken for a run's id. */
export const CALLBACK_CURSOR = 'callback_'

const id = z.string().regex(ID, 'must be the id of a callback').openapi({ example: '01JD2Q8N4T6W8Y0A2C4E6G8J0K.1' })

export const CallbackSchema = z
  .object({
    object: z.literal('callback'),
    id: id.openapi({ description: 'The `webhook-id` of all its attempts.' }),
    name: z
      .string()
      .openapi({ description: 'Name in `callbacks`; `webhook:<name>` for the callback of a webhook.', example: 'crm' }),
    session_id: sessionId,
    run_id: ulid,
    status: z.enum(['pending', 'delivered', 'failed']),
    attempts: z.array(
      z.object({
        at: time,
        status: z.number().int().optional().openapi({ description: 'Status of the response.' }),
        error: z.string().optional().openapi({ description: 'Why there was no response.' }),
      }),
    ),
    next_at: time.optional().openapi({ description: 'When it is sent next.' }),
  })
  .openapi('Callback', {
    description: "A callback about a run's end or pause.",
    example: {
      object: 'callback',
      id: '01JD2Q8N4T6W8Y0A2C4E6G8J0K',
      name: 'crm',
      session_id: 'support-7',
      run_id: '01JD2Q8N4T6W8Y0A2C4E6G8J0K',
      status: 'pending',
      attempts: [{ at: '2026-11-21T09:30:00.000Z', status: 503 }],
      next_at: '2026-11-21T09:30:05.000Z',
    },
  })

export const CallbackPageSchema = page('CallbackPage', CallbackSchema)

export const callbackQuery = z.strictObject({
  status: z.enum(['pending', 'delivered', 'failed']).optional(),
  session: sessionId.optional(),
  after: z
    .string()
    .refine((text) => text.startsWith(CALLBACK_CURSOR) && ID.test(text.slice(CALLBACK_CURSOR.length)), {
      error: 'must be the `next` of a page of callbacks',
    })
    .transform((text) => text.slice(CALLBACK_CURSOR.length))
    .optional()
    .openapi({ type: 'string' }),
  limit: pageLimit(100, 20),
})
export const callbackParams = z.object({ callback: id.openapi({ param: { name: 'callback', in: 'path' } }) })
