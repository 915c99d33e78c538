import { fc } from '../../generators/seeded.ts'
import { describe, expect, it } from 'vitest'
import { exactArguments } from '../../../functions/adapters/models/exact-arguments.ts'

describe('exact arguments', () => {
  it.each([
    '{"n":12345678901234567890,"f":4.0,"e":1E400,"z":-0,"d":0.10000000000000000001}',
    '{"nested":[1.50,{"a":[2.0]}],"text":"12345678901234567890"}',
    '{"__proto__":{"a":1.0},"constructor":2}',
  ])('serialise to the same JSON: %s', (raw) => {
    expect(JSON.stringify(exactArguments(raw))).toBe(raw)
  })

  it('have the same meaning and the same bytes after each round trip', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const raw = JSON.stringify(value)
        const again = JSON.stringify(exactArguments(raw))
        expect(JSON.parse(again)).toEqual(JSON.parse(raw))
        expect(JSON.stringify(exactArguments(raw))).toBe(again)
      }),
    )
  })

  it.each(['', '  '])('are an empty object for blank text: "%s"', (raw) => {
    expect(exactArguments(raw)).toEqual({})
  })

  it.each(['{"broken": ', 'x', '[1]', '"text"', '1', 'null', 'true'])(
    'are undefined for text that is no JSON object: %s',
    (raw) => {
      expect(exactArguments(raw)).toBeUndefined()
    },
  )
})
