import type { AssistantMessage, UserMessage } from '../../domain/messages/message.ts'
import { fullModelName, isSameModel } from '../../domain/model-name.ts'
import type { RequestMessage } from '../../domain/model-request.ts'

/** The form in which a log's messages are sent to one model. */
export interface RequestForm {
  /** The model, as its agent names it. Default: the reasoning of every model is sent. */
  readonly model?: string
}

/** Adapts the request messages of one log message to the model. */
export function toForm(
  message: UserMessage | AssistantMessage,
  sent: readonly RequestMessage[],
  { model }: RequestForm,
): readonly RequestMessage[] {
  if (model === undefined || message.role === 'user' || isMadeBy(message, fullModelName(model))) return sent
  return sent.flatMap(withoutAttached)
}

/**
 * Whether this model made the completion. Reasoning and signatures are only valid for the model that made them
 * (promises L5).
 */
const isMadeBy = ({ model, requestedModel }: AssistantMessage, asked: string): boolean =>
  [model, requestedModel].some((made) => made !== undefined && isSameModel(made, asked))

/** Removes reasoning and the provider's data of each part. */
function withoutAttached(message: RequestMessage): RequestMessage[] {
  if (message.role !== 'assistant') return [message]
  const parts = message.parts.flatMap((part) => {
    if (part.type === 'reasoning') return []
    // An unchanged part stays the same object, so that its size is estimated only once.
    if (part.provider === undefined) return [part]
    const { provider: _, ...plain } = part
    return [plain]
  })
  return parts.length === 0 ? [] : [{ ...message, parts }]
}
