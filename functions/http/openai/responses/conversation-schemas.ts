import { z } from '@hono/zod-openapi'
import { jsonObject, objectOrNull, texts as metadata } from '../../v1/fields.ts'
import { requestItems, shownItem } from './response-schemas.ts'

export const conversationRequest = z
  .object({ items: requestItems.max(20).nullish(), metadata: objectOrNull(metadata) })
  .openapi('ConversationRequest', { example: { metadata: { topic: 'weather' } } })

export type ConversationRequest = z.output<typeof conversationRequest>

export const ConversationSchema = z
  .object({ id: z.string(), object: z.literal('conversation'), created_at: z.int(), metadata: jsonObject })
  .openapi('Conversation', {
    example: { id: '01JD2Q8N4T6W8Y0A2C4E6G8J0J', object: 'conversation', created_at: 1_795_253_400, metadata: {} },
  })

export const ItemListSchema = z
  .object({
    object: z.literal('list'),
    data: z.array(shownItem),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  })
  .openapi('ItemList', { example: { object: 'list', data: [], first_id: null, last_id: null, has_more: false } })
export type ItemList = z.input<typeof ItemListSchema>
