import { expect, test } from 'vitest'
import { decodeHint, encodeHint } from '../../../functions/adapters/sqs/queue-messages.ts'

test.each([
  { tenant: 'acme', session: 's1' },
  { tenant: 'acme', session: 's1', hops: 7 },
])('%o comes back as it went', (hint) => expect(decodeHint(encodeHint(hint))).toEqual(hint))

test('hops that are no number count as none', () => {
  expect(decodeHint('{"tenant":"acme","session":"s1","hops":"many"}')).toEqual({ tenant: 'acme', session: 's1' })
})

test.each([
  '',
  'hint',
  '[]',
  '{}',
  '{"tenant":"acme"}',
  '{"tenant":"a/b","session":"s1"}',
  '{"tenant":"a","session":"../s"}',
])('%j is no hint', (body) => expect(() => decodeHint(body)).toThrow())
