import { describe, expect, test } from 'vitest'
import { createModels } from '../../../functions/adapters/models/models.ts'
import type { Completion } from '../../../functions/ports/model.ts'
import { eventFrame } from '../../model-server/bedrock-frames.ts'
import { sse } from '../../model-server/scripted-completion.ts'
import { PROVIDERS, WIRES } from './providers.ts'
import type { Provider } from './providers.ts'

type Frames = readonly (string | Uint8Array)[]

const chunk = (choice: object, more: object = {}): string =>
  sse({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, ...choice }], ...more })
const DONE = 'data: [DONE]\n\n'

interface Variants {
  /** Only frames of a format that does not exist. */
  readonly otherEvents: Frames
  /** Unknown content within a frame that begins as usual. */
  readonly otherContent: Frames
  /** Only a finish reason. */
  readonly onlyFinish: Frames
}

const VARIANTS: { readonly [provider: string]: Variants } = {
  'openai-compatible': {
    otherEvents: [sse({ event: 'hologram', data: 'hello' }), sse({ event: 'hologram', data: 'world' }), DONE],
    otherContent: [
      chunk({ delta: { role: 'assistant', content: '' } }),
      chunk({ delta: { hologram: 'hello' } }),
      chunk({ text: 'hello' }),
      DONE,
    ],
    onlyFinish: [
      chunk({ delta: { role: 'assistant', content: '' } }),
      chunk({ delta: {}, finish_reason: 'stop' }),
      DONE,
    ],
  },
  openai: {
    otherEvents: [sse({ type: 'response.hologram.delta', delta: 'hello' }), sse({ type: 'response.hologram.done' })],
    otherContent: [
      sse({ type: 'response.created', response: { id: 'r', created_at: 1, model: 'm' } }),
      sse({ type: 'hologram.delta', delta: 'hello' }),
    ],
    onlyFinish: [
      sse({ type: 'response.created', response: { id: 'r', created_at: 1, model: 'm' } }),
      sse({ type: 'response.completed', response: { usage: { input_tokens: 0, output_tokens: 0 } } }),
    ],
  },
  anthropic: {
    otherEvents: [sse({ type: 'hologram_delta', delta: 'hello' }, 'hologram_delta')],
    otherContent: [
      sse({ type: 'ping' }, 'ping'),
      sse({ type: 'hologram_start', index: 0 }, 'hologram_start'),
      sse({ type: 'hologram_stop', index: 0 }, 'hologram_stop'),
    ],
    onlyFinish: [
      sse({
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: 0 },
      }),
      sse({ type: 'message_stop' }),
    ],
  },
  bedrock: {
    otherEvents: [eventFrame('hologramDelta', { text: 'hello' }), eventFrame('hologramStop', {})],
    otherContent: [eventFrame('messageStart', { role: 'assistant' }), eventFrame('hologramDelta', { text: 'hello' })],
    onlyFinish: [
      eventFrame('messageStart', { role: 'assistant' }),
      eventFrame('messageStop', { stopReason: 'end_turn' }),
    ],
  },
}

const variantsOf = ({ name }: Provider): Variants =>
  VARIANTS[name] ?? { otherEvents: [], otherContent: [], onlyFinish: [] }

/** Reads a stream of these frames with the provider's real package, without a network. */
async function read(provider: Provider, frames: Frames): Promise<Completion> {
  const encoder = new TextEncoder()
  const bytes = Buffer.concat(frames.map((frame) => (typeof frame === 'string' ? encoder.encode(frame) : frame)))
  const models = createModels({
    settings: provider.settings('http://127.0.0.1:1'),
    fetch: async () => new Response(new Blob([bytes]).stream(), { headers: { 'content-type': provider.contentType } }),
  })
  const model = await models.open(provider.model)
  const request = {
    messages: [{ role: 'user', parts: [{ type: 'text', text: 'go' }] }],
    tools: [],
    toolChoice: 'auto',
    options: {},
  } as const
  for await (const event of model.stream(request, AbortSignal.timeout(5_000)))
    if (event.type === 'completion') return event.completion
  throw new Error('no completion')
}

describe.each(PROVIDERS.map((provider) => [WIRES[provider.name], provider] as const))('on %s', (_wire, provider) => {
  test.each(['otherEvents', 'otherContent'] as const)(
    'field/unknown-frames/%s: a stream with only unknown frames is reported as such',
    async (variant) => {
      await expect(read(provider, variantsOf(provider)[variant])).rejects.toMatchObject({
        code: 'provider_error',
        retryable: true,
        unknownFrames: expect.any(Number),
        message: expect.stringMatching(/^the model sent \d frames? in an unknown format, and nothing else$/),
      })
    },
  )

  test('field/unknown-frames/only-a-finish-reason: a stream with only a finish reason is an empty completion', async () => {
    expect(await read(provider, variantsOf(provider).onlyFinish)).toMatchObject({
      parts: [],
      toolCalls: [],
      finishReason: 'stop',
    })
  })

  test('a stream that ends after its first known frame is not reported as unknown frames', async () => {
    const [first = ''] = provider.frames({ parts: [{ type: 'text', text: 'hello' }] })
    await expect(read(provider, [first])).rejects.toMatchObject({ code: 'network', unknownFrames: undefined })
  })
})
