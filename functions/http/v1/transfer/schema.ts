import { z } from '@hono/zod-openapi'
import { jsonObject, sessionId, ulid } from '../fields.ts'

export const exportQuery = z.strictObject({
  format: z.enum(['native', 'openai', 'markdown']).default('native').openapi({
    description:
      '`native`: a line with the session, then one `Message` per line. `openai`: one Chat Completions message per line. `markdown`: a page for people.',
  }),
  outputs: z.enum(['inline', 'pointer']).default('inline').openapi({
    description: 'For `native`: whether images, files and large outputs are in the lines, or only named.',
  }),
})

const format = z.enum(['native', 'openai'])
const source = z.string().min(1).max(1_024)
const FROM = 'Number of messages of this `source` before these. Known messages are skipped.'

export const newImport = z
  .strictObject({
    format,
    messages: z.array(jsonObject).max(100_000),
    source: source.optional().openapi({ example: 'claude-code:~/.claude/projects/x/1.jsonl' }),
    from: z.int().min(0).optional().openapi({ description: FROM }),
  })
  .openapi('NewImport', {
    description:
      'Turns that were executed elsewhere, in the order of the conversation. Times are ISO 8601 with a zone, in `created_at`.',
    example: {
      format: 'openai',
      messages: [
        { role: 'user', content: 'What is 6 × 7?', created_at: '2025-03-01T10:00:00Z' },
        { role: 'assistant', content: '42' },
      ],
    },
  })

/** The settings of an import of JSON lines. An import of JSON has these settings in its body. */
export const importQuery = z.strictObject({
  format: format.optional().openapi({ description: 'Format of lines (`application/x-ndjson`); default: native.' }),
  source: source.optional().openapi({ description: 'Source of the lines.' }),
  from: z
    .string()
    .regex(/^[0-9]{1,12}$/, 'must be a number')
    .transform(Number)
    .optional()
    .openapi({ type: 'integer', minimum: 0, description: FROM }),
})

export const ImportSchema = z
  .object({
    object: z.literal('import'),
    messages: z.int().openapi({
      description:
        'Number of messages stored by this import. With an `Idempotency-Key`, includes those stored by earlier attempts.',
    }),
    first: ulid.nullable(),
    last: ulid.nullable(),
    total: z.int().optional().openapi({ description: 'With `from`: number of stored messages of this source.' }),
  })
  .openapi('Import', {
    example: { object: 'import', messages: 2, first: '01JD2Q8N4T6W8Y0A2C4E6G8J0M', last: '01JD2Q8N4T6W8Y0A2C4E6G8J0N' },
  })

export const newFork = z
  .strictObject({
    through: ulid.optional().openapi({
      description:
        'The last message to copy: an input, or the last of a run that has ended. Default: of the newest such run.',
    }),
    id: sessionId.optional(),
    title: z.string().max(500).optional(),
  })
  .openapi('NewFork', { example: { id: 'support-7-again' } })
