import { expect, test } from 'vitest'
import type { Asked } from '../../../../functions/agent/loop/context/context.ts'
import { sizeReason } from '../../../../functions/agent/loop/context/reduce.ts'
import { ModelError } from '../../../../functions/ports/model.ts'

/**
 * Returns how certain it is that a refused request was too large. The last completion of the request's thread is from
 * `model`.
 */
function reasonAfter(model: string): 'certain' | 'possible' | undefined {
  const agent = { model: 'script/ed', policies: { contextTokens: 30_000 } }
  const messages = [{ role: 'assistant', model, usage: { inputTokens: 9_000 } }]
  const asked = { thread: { agent, model: { name: 'script/ed' }, messages } } as unknown as Asked
  return sizeReason(new ModelError('invalid_request', 'no', { retryable: false, status: 400 }), asked, {
    tokens: 5_000,
  })
}

test("accepted sizes are remembered per model, even if one model's name begins with another's name", () => {
  expect([reasonAfter('script/ed'), reasonAfter('script/ed-large')]).toEqual([undefined, 'possible'])
})
