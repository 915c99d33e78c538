import { z } from '@hono/zod-openapi'
import { jsonObject, objectOrNull, pageLimit, sessionId, texts as metadata } from '../../v1/fields.ts'
import { requestItems, shownItem } from '../responses/response-schemas.ts'

/** Limit of the items of one request, as in OpenAI's API. */
const MAX_ITEMS = 20

export const conversationRequest = z
  .object({ items: requestItems.max(MAX_ITEMS).nullish(), metadata: objectOrNull(metadata) })
  .openapi('ConversationRequest', { example: { metadata: { topic: 'weather' } } })
export type ConversationRequest = z.output<typeof conversationRequest>

export const conversationChange = z
  .object({
    metadata: metadata.nullable().openapi({ type: ['object', 'null'], description: 'Replaces the metadata.' }),
  })
  .openapi('ConversationChange', { example: { metadata: { topic: 'rain' } } })

export const newItems = z
  .object({ items: requestItems.min(1).max(MAX_ITEMS) })
  .openapi('NewItems', { example: { items: [{ type: 'message', role: 'user', content: 'It rains.' }] } })

export const conversationParams = z.object({
  conversation: sessionId.openapi({ param: { name: 'conversation', in: 'path' } }),
})

export const itemParams = conversationParams.extend({
  item: z
    .string()
    .max(256)
    .openapi({ param: { name: 'item', in: 'path' } }),
})

export const itemQuery = z.object({
  after: z.string().max(256).optional().openapi({ description: "An item's id." }),
  limit: pageLimit(100, 20),
  order: z.enum(['asc', 'desc'], 'must be asc or desc').default('desc'),
})
export type ItemQuery = z.output<typeof itemQuery>

export const ConversationSchema = z
  .object({ id: z.string(), object: z.literal('conversation'), created_at: z.int(), metadata: jsonObject })
  .openapi('Conversation', {
    example: { id: '01JD2Q8N4T6W8Y0A2C4E6G8J0J', object: 'conversation', created_at: 1_795_253_400, metadata: {} },
  })

export const DeletedConversationSchema = z
  .object({ id: z.string(), object: z.literal('conversation.deleted'), deleted: z.literal(true) })
  .openapi('DeletedConversation', {
    example: { id: '01JD2Q8N4T6W8Y0A2C4E6G8J0J', object: 'conversation.deleted', deleted: true },
  })

export const ItemSchema = shownItem.openapi('Item', { example: { id: 'msg_01JD2Q8N4T6W8Y0A2C4E6G8J0K' } })

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
