import type { OpenAiStep } from '../../model-server/openai-server.ts'
import type { Client, RunBody } from '../backend/client.ts'
import { lastRun } from '../backend/event-text.ts'
import { dataOf, partsOf } from './expected.ts'
import type { Conversation, RecordedMessage } from './recorded.ts'
import { callsOf, furtherResultsOf, listOf, plainText, resultsOf, sessionOf } from './recorded.ts'

/**
 * Response of the model server when the record has no further completion. This response fails the run, and no later
 * request contains the error. Status 400 would cause a smaller request (promises R9).
 */
const END_OF_RECORD: OpenAiStep = {
  status: 404,
  body: { error: { message: 'the record ends here', type: 'invalid_request_error' } },
}

/** UTF-16 units in each chunk of a long text. With smaller chunks, thousands of completions would have millions of frames. */
const PIECE = 50

/** The model server's completions, request after request, and how much of the record each request must contain. */
export interface ScriptedRequest {
  readonly step: OpenAiStep
  /** The recorded messages before this index are in the request. */
  readonly end: number
}

/** Converts a conversation to requests. */
export function scriptOf({ messages }: Conversation): ScriptedRequest[] {
  const script: ScriptedRequest[] = []
  for (const [index, message] of messages.entries()) {
    if (message.role === 'assistant') script.push({ step: { completion: completionOf(message) }, end: index })
    const next = messages[index + 1]
    if (
      message.role !== 'assistant' &&
      message.role !== 'system' &&
      next?.role !== 'assistant' &&
      next?.role !== 'tool'
    )
      script.push({ step: END_OF_RECORD, end: index + 1 })
  }
  return script
}

const completionOf = (message: RecordedMessage) => ({
  role: 'assistant' as const,
  content: plainText(message) ?? '',
  tool_calls: callsOf(message),
  pieceSize: PIECE,
})

/** Replays the conversation through the API: posts the inputs, and posts the recorded results of client tools. */
export async function driveThroughApi(client: Client, conversation: Conversation, streamed: boolean): Promise<void> {
  const { messages } = conversation
  const id = sessionOf(conversation)
  const instructions = messages[0]?.role === 'system' ? { instructions: plainText(messages[0]) ?? '' } : {}
  await client.post('/v1/sessions', { id, agent: conversation.id, ...instructions })
  const headers = streamed ? { accept: 'text/event-stream' } : { prefer: 'wait=60' }
  const post = async (path: string, body: unknown): Promise<RunBody> => {
    const reply = await client.send<RunBody>('POST', `/v1/sessions/${id}${path}`, body, headers)
    if (reply.status !== 200) throw new Error(`${id}: POST ${path}: ${reply.status} ${reply.text.slice(0, 300)}`)
    return streamed ? lastRun(reply.text) : reply.body
  }
  const refused = async (run: string, message: RecordedMessage): Promise<void> => {
    const results = [resultOf(message, message.tool_call_id ?? '')]
    const { status } = await client.send('POST', `/v1/sessions/${id}/runs/${run}/tool-results`, { results })
    if (status !== 409) throw new Error(`${id}: a second result for a call got ${status}`)
  }
  const tools = clientTools(conversation)
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'user') continue
    let run = await post('/messages', { content: incomingContent(message), tools })
    for (let at = index + 1; at < messages.length && messages[at]?.role !== 'user'; at++) {
      if (callsOf(messages[at]).length === 0) continue
      if (run.status !== 'paused') throw new Error(`${id}: the run is ${run.status} at message ${at}`)
      const { waiting } = run
      const results = [...resultsOf(conversation, at)].map(([callId, place]) => ({
        ...resultOf(messages[place], callId),
        message_id: waiting.find((call) => call.tool_call_id === callId)?.message_id,
      }))
      if (results.length > 0) run = await post(`/runs/${run.id}/tool-results`, { results })
      for (const further of furtherResultsOf(conversation, at)) await refused(run.id, further)
    }
  }
}

function clientTools({ messages }: Conversation): object[] {
  const names = new Set(messages.flatMap((message) => callsOf(message).map((call) => call.function.name)))
  return [...names].map((name) => ({ name, description: 'recorded', parameters: { type: 'object' } }))
}

function resultOf(message: RecordedMessage | undefined, callId: string): object {
  return { tool_call_id: callId, output: message === undefined ? '' : incomingContent(message) }
}

function incomingContent(message: RecordedMessage): string | object[] {
  if (listOf(message).length === 0) return plainText(message) ?? ''
  return partsOf(message).map((part) => {
    if (part.type === 'text') return part
    const { mediaType, base64 } = dataOf(part)
    return { type: 'image', media_type: mediaType, data: base64 }
  })
}
