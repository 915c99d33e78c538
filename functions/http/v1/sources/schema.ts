import { z } from '@hono/zod-openapi'
import { page, pageLimit, ulid } from '../fields.ts'

const SourceSchema = z
  .object({
    object: z.literal('source'),
    number: z
      .number()
      .int()
      .openapi({ description: 'Number that citations use, as in `[source7]`. It never changes.' }),
    title: z.string(),
    url: z.string().optional(),
    text: z
      .string()
      .optional()
      .openapi({ description: 'The text; if it is large, a preview with a pointer to the whole.' }),
    id: z.string().optional().openapi({ description: 'Id that the tool gave the source.' }),
    cited: z
      .boolean()
      .nullable()
      .openapi({ description: 'Null until its run has completed, and under the policy `keep`.' }),
    message_id: ulid.openapi({ description: 'Message id of the tool result with this source.' }),
    run_id: ulid,
  })
  .openapi('Source', {
    description: 'A source of a tool result.',
    example: {
      object: 'source',
      number: 7,
      title: 'Opening hours',
      url: 'https://example.com/hours',
      cited: true,
      message_id: '01JD2Q8N4T6W8Y0A2C4E6G8J0M',
      run_id: '01JD2Q8N4T6W8Y0A2C4E6G8J0K',
    },
  })

export const SourcePageSchema = page('SourcePage', SourceSchema)
export type SourceResource = z.input<typeof SourceSchema>

export const sourceQuery = z.strictObject({
  after: z
    .string()
    .regex(/^[0-9]{1,9}$/, 'must be the number of a source')
    .transform(Number)
    .optional()
    .openapi({ type: 'integer', minimum: 0, description: 'Sources with a greater number.', example: 7 }),
  limit: pageLimit(1000, 100),
  cited: z
    .enum(['true', 'false'])
    .optional()
    .openapi({ description: '`true`: only cited sources; `false`: only uncited ones.' }),
})
