import type { AssistantMessage, UserMessage } from '../../domain/messages/message.ts'
import { fullModelName, isSameModel } from '../../domain/model-name.ts'
import type { RequestMessage } from '../../domain/model-request.ts'

/** How the messages of a log go out to one model. */
export interface RequestForm {
  /** As its agent names it. Left out: reasoning of all models goes out. */
  readonly model?: string
}

/** What a message becomes in a request to this model. `sent`: what it becomes in a request to any. */
export function toForm(
  message: UserMessage | AssistantMessage,
  sent: readonly RequestMessage[],
  { model }: RequestForm,
): readonly RequestMessage[] {
  if (model === undefined || message.role === 'user' || isMadeBy(message, fullModelName(model))) return sent
  return sent.flatMap(withoutAttached)
}

/** Whether this model made the completion: reasoning and signatures count for no other (promises L5). */
const isMadeBy = ({ model, requestedModel }: AssistantMessage, asked: string): boolean =>
  [model, requestedModel].some((made) => made !== undefined && isSameModel(made, asked))

/** The message without reasoning, and without what a provider attached to its parts. */
function withoutAttached(message: RequestMessage): RequestMessage[] {
  if (message.role !== 'assistant') return [message]
  const parts = message.parts.flatMap((part) => {
    if (part.type === 'reasoning') return []
    const { provider: _, ...plain } = part
    return [plain]
  })
  return parts.length === 0 ? [] : [{ ...message, parts }]
}
