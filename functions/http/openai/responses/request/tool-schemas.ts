import { z } from '@hono/zod-openapi'
import { objectOrNull } from '../../../v1/fields.ts'
import { clientTool, MAX_TOOLS } from '../../../v1/messages/input-schema.ts'

const functionTool = z.object({
  type: z.literal('function'),
  name: clientTool.shape.name,
  description: clientTool.shape.description.nullish(),
  parameters: objectOrNull(clientTool.shape.parameters),
  strict: z.boolean().nullish(),
})

/**
 * Types of tools that are ignored. OpenAI's servers execute most of them. The others take free text, or arguments in
 * their own format, in place of JSON arguments.
 */
const IGNORED_TYPES = [
  'apply_patch',
  'code_interpreter',
  'computer',
  'computer_use_preview',
  'custom',
  'file_search',
  'image_generation',
  'local_shell',
  'mcp',
  'programmatic_tool_calling',
  'shell',
  'tool_search',
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
] as const

const namespaceTool = z.object({
  type: z.literal('namespace'),
  name: clientTool.shape.name,
  description: clientTool.shape.description.nullish(),
  tools: z
    .array(
      z.discriminatedUnion(
        'type',
        [functionTool, z.object({ type: z.literal('custom') })],
        'must be of type function or custom',
      ),
    )
    .max(MAX_TOOLS),
})

/** A tool of a request. */
export const responseTool = z.discriminatedUnion(
  'type',
  [functionTool, namespaceTool, z.object({ type: z.enum(IGNORED_TYPES) })],
  `must be of type function or namespace, or of one that is ignored: ${IGNORED_TYPES.join(', ')}`,
)
