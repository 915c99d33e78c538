import { z } from '@hono/zod-openapi'

/** A frame of another format's stream: its data is text whose shape that format decides. */
export const ForeignEventSchema = z
  .object({ data: z.string(), event: z.string().optional() })
  .openapi('ForeignEvent', { example: { data: '{"type":"start"}' } })
