import { expect, test } from 'vitest'
import { decodeHint, encodeHint } from '../../../functions/adapters/sqs/queue-messages.ts'

test.each([
  { tenant: 'acme', session: 's1' },
  { tenant: 'acme', session: 's1', hops: 7 },
])('%o is unchanged after encoding and decoding', (hint) => expect(decodeHint(encodeHint(hint))).toEqual(hint))

test('an invalid number of hops counts as zero', () => {
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
])('%j is not a valid hint', (body) => expect(() => decodeHint(body)).toThrow())
