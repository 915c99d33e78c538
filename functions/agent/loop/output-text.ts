import type { ToolMessage } from '../../domain/message.ts'
import { textOf } from '../../domain/message.ts'
import type { SessionKey } from '../../domain/session.ts'
import { encodingOf } from '../../log/output-encoding.ts'
import type { OutputStore } from '../../ports/output-store.ts'

/** The whole text of a tool result, read back from the output store when it was offloaded. */
export async function outputText(outputs: OutputStore, key: SessionKey, message: ToolMessage): Promise<string> {
  if (message.output?.object === undefined) return textOf(message.parts)
  const { object, mediaType } = message.output
  return Buffer.from(await outputs.read(key, object)).toString(encodingOf(mediaType))
}
