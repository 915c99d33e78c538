import { z } from 'zod'

/** Parts of the contents of Chat Completions messages. */
export const textPart = z.object({ type: z.literal('text'), text: z.string() })
export const filePart = z.object({
  type: z.literal('file'),
  file: z.object({
    filename: z.string().optional(),
    file_data: z.string().optional(),
    file_id: z.string().optional(),
  }),
})
/** What a model says. */
export const spokenPart = z.discriminatedUnion(
  'type',
  [textPart, z.object({ type: z.literal('refusal'), refusal: z.string() })],
  'must be text or refusal',
)
