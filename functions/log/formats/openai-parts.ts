import { z } from 'zod'

/** Schemas of the content parts of Chat Completions messages. */
export const textPart = z.object({ type: z.literal('text'), text: z.string() })
export const filePart = z.object({
  type: z.literal('file'),
  file: z.object({
    filename: z.string().optional(),
    file_data: z.string().optional(),
    file_id: z.string().optional(),
  }),
})
/** Schema of the parts of a model's message. */
export const spokenPart = z.discriminatedUnion(
  'type',
  [textPart, z.object({ type: z.literal('refusal'), refusal: z.string() })],
  'must be text or refusal',
)
