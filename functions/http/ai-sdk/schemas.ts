import { z } from '@hono/zod-openapi'
import { agentName, jsonObject, metadata, objectOrNull, sessionId } from '../v1/fields.ts'
import { newMessage } from '../v1/messages/input-schema.ts'

const text = z.object({ type: z.literal('text'), text: z.string() })
const file = z.object({
  type: z.literal('file'),
  mediaType: z.string().max(255).optional(),
  filename: z.string().max(255).optional(),
  url: z.string(),
})
const userMessage = z.object({
  id: z.string().min(1).max(256),
  role: z.literal('user'),
  metadata: objectOrNull(metadata),
  parts: z
    .array(z.discriminatedUnion('type', [text, file], 'must be of type text or file'))
    .min(1)
    .max(64),
})
/**
 * An assistant message that the client sends back. Only its answers to calls are read. Its other parts came from the
 * server and are ignored.
 */
const assistantMessage = z.object({
  id: z.string().min(1).max(256),
  role: z.literal('assistant'),
  parts: z.array(
    z.looseObject({
      type: z.string(),
      toolCallId: z.string().max(4_096).optional(),
      state: z.string().optional(),
      errorText: z.string().optional(),
      approval: z.looseObject({ id: z.string(), approved: z.boolean().optional() }).optional(),
    }),
  ),
})
export type UserUiMessage = z.output<typeof userMessage>
export type AssistantUiMessage = z.output<typeof assistantMessage>

/** Only the last message is read: the server keeps the history. */
export const uiMessage = z.discriminatedUnion('role', [userMessage, assistantMessage], 'must be user or assistant')

export const chatRequest = z
  .object({
    id: sessionId,
    messages: z.array(jsonObject).min(1),
    trigger: z.enum(['submit-message', 'regenerate-message']).optional().openapi({
      description: '`regenerate-message`: replaces the run of the message `messageId`, or the newest run.',
    }),
    messageId: z.string().max(256).nullish(),
    agent: agentName.optional(),
    tools: newMessage.shape.tools,
    sdk: z
      .number()
      .optional()
      .openapi({ description: '7 if the client is version 7 of the AI SDK, which can discard a step.' }),
  })
  .openapi('ChatRequest', {
    description: 'Body that `DefaultChatTransport` of the AI SDK sends; `agent`, `tools` and `sdk` go into its `body`.',
    example: {
      id: 'support-7',
      messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'What time is it?' }] }],
    },
  })
export type ChatRequest = z.output<typeof chatRequest>

export const UiMessageListSchema = z.array(jsonObject).openapi('UiMessageList', {
  example: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'What time is it?' }] }],
})
