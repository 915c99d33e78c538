import { z } from '@hono/zod-openapi'
import { jsonObject, objectOrNull, sessionId } from '../v1/fields.ts'
import { clientTool, FILENAME, toolList } from '../v1/messages/input-schema.ts'

const text = z.object({ type: z.literal('text'), text: z.string() })
const data = z.object({
  type: z.literal('data', 'must be data: other sources are not supported'),
  value: z.string(),
  mimeType: z.string().max(255),
})
const imageSource = z.discriminatedUnion(
  'type',
  [data, z.object({ type: z.literal('url'), value: z.string(), mimeType: z.string().max(255).nullish() })],
  'must be data or url: other sources are not supported',
)
const part = z.discriminatedUnion(
  'type',
  [
    text,
    z.object({ type: z.literal('image'), source: imageSource }),
    z.object({ type: z.literal('document'), source: data }),
    // The form of media from clients before protocol version 1.0.
    z
      .object({
        type: z.literal('binary'),
        mimeType: z.string().max(255),
        data: z.string().nullish(),
        url: z.string().nullish(),
        filename: z.string().regex(FILENAME, 'must be a file name, without a folder').nullish(),
      })
      .refine(({ data: bytes, url }) => typeof (bytes ?? url) === 'string', {
        path: ['data'],
        message: 'is required, unless there is a url: an id alone is not supported',
      }),
  ],
  'must be of type text, image, document or binary',
)
const id = z.string().max(2_048)
const message = z.discriminatedUnion(
  'role',
  [
    z.object({ id, role: z.enum(['system', 'developer']), content: z.string() }),
    z.object({ id, role: z.literal('user'), content: z.union([z.string(), z.array(part).min(1).max(64)]) }),
    z.object({
      id,
      role: z.literal('assistant'),
      content: z.string().nullish(),
      toolCalls: z
        .array(z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }))
        .nullish(),
    }),
    z.object({
      id,
      role: z.literal('tool'),
      toolCallId: z.string().min(1).max(2_048),
      content: z.union([z.string(), z.array(text).min(1)]),
      error: z.string().nullish(),
    }),
    z.object({ id, role: z.enum(['reasoning', 'activity']) }),
  ],
  'must have the role system, developer, user, assistant, tool, reasoning or activity',
)
/** A message of AG-UI. The handler checks messages, because API client generators fail on a schema of this depth. */
export const agUiMessage = message
export type AgUiMessage = z.output<typeof message>

export const runAgentInput = z
  .object({
    threadId: sessionId,
    protocolVersion: z.string().max(64).optional().openapi({ description: 'Clients before version 1.0 omit it.' }),
    runId: z.string().min(1).max(255),
    messages: z.array(jsonObject).openapi({ description: 'Messages in the format of AG-UI.' }),
    tools: toolList(
      z.object({
        name: clientTool.shape.name,
        description: clientTool.shape.description.nullish(),
        parameters: objectOrNull(clientTool.shape.parameters),
        strict: z.boolean().nullish().openapi({ description: 'See `strict` of `ClientTool`.' }),
        metadata: z.looseObject({ strict: z.unknown().optional() }).nullish().openapi({
          description:
            'May contain `strict`, because packages of AG-UI send no additional fields outside of `metadata`.',
        }),
      }),
    ).optional(),
    resume: z
      .array(
        z.object({
          interruptId: z.string(),
          status: z.enum(['resolved', 'cancelled']),
          payload: z
            .union([z.boolean(), z.looseObject({ approved: z.boolean() })], 'must say approved: true or false')
            .optional(),
        }),
      )
      .max(64)
      .nullish(),
    state: z.unknown().optional(),
    context: z.array(jsonObject).optional(),
  })
  .openapi('RunAgentInput', {
    description:
      'The request of AG-UI. `threadId` names the session. `state`, `context` and `forwardedProps` are ignored.',
    example: {
      threadId: 'support-7',
      runId: 'run-1',
      messages: [{ id: 'm1', role: 'user', content: 'What time is it?' }],
      tools: [],
      context: [],
    },
  })
export type RunAgentInput = z.output<typeof runAgentInput>
