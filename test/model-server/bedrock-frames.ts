import { crc32 } from 'node:zlib'
import type { ScriptedCompletion, ScriptedPart } from './scripted-completion.ts'
import { finishOf, piecesOf, USED } from './scripted-completion.ts'

const STOP = {
  stop: 'end_turn',
  'tool-calls': 'tool_use',
  length: 'max_tokens',
  filtered: 'guardrail_intervened',
} as const

/** Builds the ConverseStream of a completion for Bedrock, one binary event-stream message per frame. */
export function bedrockFrames(completion: ScriptedCompletion): Uint8Array[] {
  const blocks = completion.parts.flatMap((part, contentBlockIndex) => [
    ...startOf(part).map((start) => eventFrame('contentBlockStart', { contentBlockIndex, start })),
    ...deltasOf(part, completion.pieceSize).map((delta) =>
      eventFrame('contentBlockDelta', { contentBlockIndex, delta }),
    ),
    eventFrame('contentBlockStop', { contentBlockIndex }),
  ])
  const usage = {
    inputTokens: USED.input - USED.cached - USED.cacheWrite,
    cacheReadInputTokens: USED.cached,
    cacheWriteInputTokens: USED.cacheWrite,
    outputTokens: USED.output,
    totalTokens: USED.input + USED.output,
  }
  return [
    eventFrame('messageStart', { role: 'assistant' }),
    ...blocks,
    eventFrame('messageStop', { stopReason: STOP[finishOf(completion)] }),
    eventFrame('metadata', { usage, metrics: { latencyMs: 12 } }),
  ]
}

/** Builds one frame. Bedrock reports throttling within a stream by an `exception` frame. */
export function eventFrame(name: string, payload: object, type: 'event' | 'exception' = 'event'): Uint8Array {
  const headers = Buffer.concat([
    header(':message-type', type),
    header(`:${type}-type`, name),
    header(':content-type', 'application/json'),
  ])
  // Bedrock pads each event with a field of random length.
  return encode(headers, Buffer.from(JSON.stringify({ ...payload, p: 'abcdefgh' })))
}

/**
 * Encodes a message of `application/vnd.amazon.eventstream`: the lengths, their checksum, the headers, the payload, and a
 * checksum of everything. Numbers are big-endian.
 */
function encode(headers: Buffer, payload: Buffer): Uint8Array {
  const prelude = Buffer.alloc(8)
  prelude.writeUInt32BE(16 + headers.length + payload.length, 0)
  prelude.writeUInt32BE(headers.length, 4)
  const message = Buffer.concat([prelude, checksum(prelude), headers, payload])
  return Buffer.concat([message, checksum(message)])
}

function checksum(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(bytes), 0)
  return sum
}

/** Encodes a header: name length (1 byte), name, type 7 (string), value length (2 bytes), value. */
function header(name: string, value: string): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(Buffer.byteLength(value), 0)
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), length, Buffer.from(value)])
}

function startOf(part: ScriptedPart): object[] {
  return part.type === 'tool_call' ? [{ toolUse: { toolUseId: part.id, name: part.name } }] : []
}

function deltasOf(part: ScriptedPart, size: number | undefined): object[] {
  if (part.type === 'text') return piecesOf(part.text, size).map((text) => ({ text }))
  if (part.type === 'tool_call') return piecesOf(part.arguments, size).map((input) => ({ toolUse: { input } }))
  if (part.type === 'redacted') return [{ reasoningContent: { redactedContent: part.data } }]
  const thinking = part.text === '' ? [] : piecesOf(part.text, size).map((text) => ({ reasoningContent: { text } }))
  const { signature } = part
  return signature === undefined ? thinking : [...thinking, { reasoningContent: { signature } }]
}
