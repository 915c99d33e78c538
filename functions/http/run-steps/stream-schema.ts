import { z } from '@hono/zod-openapi'

/** A frame of a stream in another product's format. That format defines the shape of the text in `data`. */
export const ForeignEventSchema = z
  .object({ data: z.string(), event: z.string().optional() })
  .openapi('ForeignEvent', { example: { data: '{"type":"start"}' } })
