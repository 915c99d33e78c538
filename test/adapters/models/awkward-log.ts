import type { Message } from '../../../functions/domain/messages/message.ts'
import type { ModelRequest, RequestMessage } from '../../../functions/domain/model-request.ts'
import { replay } from '../../../functions/log/replay.ts'
import { callTo, writeLog } from '../../generators/messages.ts'

/** Arguments whose numbers and spaces do not survive `JSON.parse`. */
export const BIG = '{"n": 12345678901234567890, "f":4.0,"e":1E400, "z":-0,"text":"\\u00e9\\ud83d\\ude00"}'
export const MALFORMED = '{"cmd": "ls'
export const NOTE = 'cat.png is no longer available'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const image = { type: 'image', id: 'object', mediaType: 'image/png', filename: 'cat.png', bytes: PNG.length } as const

/** Returns metadata as the providers' packages attach them to reasoning, by provider. */
const signed = (signature: string) =>
  ({
    anthropic: { signature },
    bedrock: { signature },
    amazonBedrock: { signature },
    openai: { itemId: `rs_${signature}`, reasoningEncryptedContent: signature },
  }) as const

/** Builds a log of two runs with all contents that have caused errors of providers. */
export function awkwardLog(): Message[] {
  const writer = writeLog()
    .user('look', image, { type: 'note', text: NOTE })
    .assistant(
      { type: 'reasoning', text: 'let me think', provider: signed('c2lnMQ==') },
      'both at once',
      callTo('shell', BIG, 'call_same'),
      callTo('shell', MALFORMED, 'functions.shell:1'),
    )
    .result(1, 'error: cannot parse', { status: 'error' })
    .result(0, 'done')
    .assistant({ type: 'reasoning', text: '', provider: signed('c2lnMg==') }, callTo('shell', '', 'call_same'))
    .result(0, '', { status: 'interrupted' })
    .assistant('half', { type: 'error', code: 'network', text: 'NEVER-SENT' })
    .run('run-2')
    .user('again', image)
    .assistant(callTo('screenshot', '{}', 'call_shot'))
    .result(0, '', { parts: [{ type: 'text', text: 'here' }, image] })
    .assistant(callTo('shell', '{"cmd":"true"}', 'call_last'))
    .result(0, '')
  return writer.log
}

/** Builds the next request for this log. */
export function requestFor(log: readonly Message[], toolChoice: ModelRequest['toolChoice'] = 'auto'): ModelRequest {
  const messages = replay(log, { currentRun: log.at(-1)?.runId ?? '', replay: 'full' })
  return {
    instructions: 'Be brief.',
    messages: messages.map(withBytes),
    tools: ['shell', 'screenshot'].map((name) => ({
      name,
      description: `Runs ${name}`,
      parameters: { type: 'object', properties: { cmd: { type: 'string' } } },
    })),
    toolChoice,
    options: {},
  }
}

function withBytes(message: RequestMessage): RequestMessage {
  if (message.role === 'assistant') return message
  return {
    ...message,
    parts: message.parts.map((part) => (part.type === 'text' ? part : { ...part, data: new Uint8Array(PNG) })),
  }
}
