import { expect, test } from 'vitest'
import { withoutReasoning } from '../../../../functions/http/openai/sessions/reasoning-tags.ts'
import { fc } from '../../../generators/seeded.ts'

test.each<[string, string]>([
  ['<think>a</think>b', 'b'],
  ['a<thinking>b</thinking>c<think>d</think>e', 'ace'],
  ['a</think>b', 'b'],
  ['a</think>b</thinking>c', 'c'],
  ['<think>a', ''],
  ['<think>a</thinking>b', ''],
  ['a<think>b', 'a<think>b'],
  ['a<think>b<thinking>c</thinking>d', 'a<think>bd'],
  ['<think>a<think>b</think>c', 'c'],
])('the text %j without its reasoning is %j', (text, rest) => {
  expect(withoutReasoning(text)).toBe(rest)
})

test('removing reasoning has the result of earlier versions, which used regular expressions', () => {
  const earlier = (text: string): string =>
    text
      .replaceAll(/<(think|thinking)>[\s\S]*?<\/\1>|^<(?:think|thinking)>[\s\S]*$/g, '')
      .replace(/^[\s\S]*<\/(?:think|thinking)>/, '')
  const tokens = fc.array(fc.constantFrom('a', 'b', '<think>', '</think>', '<thinking>', '</thinking>'))
  fc.assert(
    fc.property(tokens, (parts) => {
      expect(withoutReasoning(parts.join(''))).toBe(earlier(parts.join('')))
    }),
  )
})

test('removing reasoning takes time linear in the text', () => {
  const start = performance.now()
  for (const tags of ['<think>', '</think>', '<think><thinking></think>']) withoutReasoning(`a${tags.repeat(100_000)}`)
  expect(performance.now() - start).toBeLessThan(2_000)
})
