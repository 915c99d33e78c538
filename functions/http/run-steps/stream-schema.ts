import { z } from '@hono/zod-openapi'

/** A frame of a stream in another format: its data is text whose shape that format defines. */
export const ForeignEventSchema = z
  .object({ data: z.string(), event: z.string().optional() })
  .openapi('ForeignEvent', { example: { data: '{"type":"start"}' } })
