import { fc } from '../../generators/seeded.ts'
import { describe, expect, it } from 'vitest'
import { createModels } from '../../../functions/adapters/models/models.ts'
import type { Completion } from '../../../functions/ports/model.ts'
import type { ScriptedCompletion, ScriptedPart } from '../../model-server/scripted-completion.ts'
import type { Provider } from './providers.ts'
import { PROVIDERS } from './providers.ts'

const words = fc.oneof(
  fc.lorem({ maxCount: 4 }),
  fc.constantFrom(' ', '\n\n', '\u0000', '😀', '\ud83d', '検索', 'data: x\n\n', '\r\n', '\u2028', '"quoted"'),
)
const call = fc.record({
  name: fc.constantFrom('shell', 'read_output'),
  arguments: fc.oneof(fc.json({ maxDepth: 1 }), fc.constantFrom('{"a": 1.0}', '{"broken": ', ' {} ', 'x', '{}{}')),
})
const part = fc.oneof(
  words.map((text): ScriptedPart => ({ type: 'text', text })),
  words.map((text): ScriptedPart => ({ type: 'reasoning', text, signature: 'c2ln' })),
  call.map((made): ScriptedPart => ({ type: 'tool_call', id: '', ...made })),
)
const completions: fc.Arbitrary<ScriptedCompletion> = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => ({
  parts: parts.map((one, index) => (one.type === 'tool_call' ? { ...one, id: `call_${index}` } : one)),
}))

/** Reads a stream of these frames with the provider's real package, without a network. */
async function read(provider: Provider, completion: ScriptedCompletion): Promise<Completion> {
  const encoder = new TextEncoder()
  const frames = provider.frames(completion).map((frame) => (typeof frame === 'string' ? encoder.encode(frame) : frame))
  const models = createModels({
    settings: provider.settings('http://127.0.0.1:1'),
    fetch: async () => new Response(new Blob(frames).stream(), { headers: { 'content-type': provider.contentType } }),
  })
  const model = await models.open(provider.model)
  const request = {
    messages: [{ role: 'user' as const, parts: [] }],
    tools: [],
    toolChoice: 'auto' as const,
    options: {},
  }
  for await (const event of model.stream(request, new AbortController().signal)) {
    if (event.type === 'completion') return event.completion
  }
  throw new Error('no completion')
}

interface Flat {
  readonly type: string
  readonly text: string
}

/** Merges adjacent parts of one kind, because some streams do not mark the boundary between them. */
function merge(parts: readonly Flat[]): Flat[] {
  const merged: Flat[] = []
  for (const one of parts) {
    const last = merged.at(-1)
    if (last !== undefined && last.type === one.type && one.type !== 'tool_call') {
      merged[merged.length - 1] = { type: one.type, text: last.text + one.text }
    } else merged.push(one)
  }
  return merged
}

describe.each(PROVIDERS)('any completion of $name', (provider) => {
  it('has unchanged order, text and raw arguments after its stream is read', async () => {
    await fc.assert(
      fc.asyncProperty(completions, async (scripted) => {
        const completion = await read(provider, scripted)
        let count = 0
        const found = completion.parts.map((one): Flat => {
          if (one.type !== 'tool_call') return { type: one.type, text: one.text }
          const made = completion.toolCalls[count++]
          return { type: 'tool_call', text: `${made?.id} ${made?.name} ${made?.arguments}` }
        })
        const expected = scripted.parts.map((one): Flat => {
          if (one.type === 'tool_call') return { type: one.type, text: `${one.id} ${one.name} ${one.arguments}` }
          return { type: one.type, text: 'text' in one ? one.text : '' }
        })
        expect(merge(found)).toEqual(merge(expected))
      }),
      { numRuns: 100 },
    )
  })
})
