import { z } from 'zod'
import { readableOutput } from '../agent/readable-output.ts'
import { definedFields } from '../domain/defined-fields.ts'
import { READ_OUTPUT_DESCRIPTION, readOutputInput, readPart } from '../tools/read-output.ts'
import { NothingToRead } from './memory-tool.ts'
import type { MemoryTool } from './memory-tool.ts'

/** Reads parts of any tool result that the caller may see. */
export const readOutputTool: MemoryTool<typeof readOutputInput> = {
  name: 'read_output',
  title: 'Read a tool result',
  description: READ_OUTPUT_DESCRIPTION,
  input: readOutputInput,
  output: z.looseObject({
    pointer: z.string(),
    session_id: z.string().optional(),
    message_id: z.string().optional(),
    tool_name: z.string().optional(),
    lines: z.int().nullable().describe('Lines of the whole output.'),
    bytes: z.int().nullable().describe('Bytes of the whole output.'),
    text: z.string(),
  }),
  async recall(dependencies, caller, input, signal) {
    const scope = { tenant: caller.tenant, ...definedFields({ owner: caller.owner }) }
    const places = { tenant: caller.tenant, scope: () => Promise.resolve(scope) }
    const found = await readableOutput(dependencies, input.pointer, places)
    const text = await readPart(input, {
      signal,
      now: () => dependencies.clock.now(),
      readOutput: async () => found && { toolName: found.message.toolName, pieces: found.pieces },
    }).catch((error: unknown) => {
      throw error instanceof TypeError || error instanceof RangeError
        ? new NothingToRead(error.message, { cause: error })
        : error
    })
    const { message, session } = found ?? {}
    const content = {
      pointer: input.pointer,
      session_id: session,
      message_id: message?.id,
      tool_name: message?.toolName,
      lines: message?.output?.lines ?? null,
      bytes: message?.output?.bytes ?? null,
      text,
    }
    return { text, content }
  },
}
