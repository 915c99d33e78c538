/* Evidence, limits: A hostile JSON body blocks the event loop for about 0.1 s. Normal bodies of 4 MB are accepted. */
import { expect, test } from 'vitest'
import { compactJson, itemsAt, propertiesAt, valueAt } from '../../../functions/log/json/json-spans.ts'
import { fc } from '../../generators/seeded.ts'

const at = (text: string, { from, to }: { readonly from: number; readonly to: number }): string => text.slice(from, to)
const spaces = fc.constantFrom(undefined, 1, '\t')

test('the parser finds a value, an item and a property; their compact form equals that of JSON.stringify', () => {
  fc.assert(
    fc.property(fc.json(), spaces, (json, space) => {
      const value: unknown = JSON.parse(json)
      const text = ` ${JSON.stringify({ a: [1, value, ''], 'b"\\': value }, undefined, space)}\n`
      const whole = valueAt(text, 0)
      expect(compactJson(text, whole)).toBe(JSON.stringify(JSON.parse(text)))
      const properties = propertiesAt(text, whole)
      expect([...properties.keys()]).toEqual(['a', 'b"\\'])
      const [list, second] = [...properties.values()]
      if (list === undefined || second === undefined) throw new Error('a property was not found')
      expect(JSON.parse(at(text, second))).toEqual(JSON.parse(JSON.stringify(value)))
      const items = itemsAt(text, list)
      expect(items.map((item) => compactJson(text, item))).toEqual(['1', JSON.stringify(value), '""'])
    }),
  )
})

test("compact JSON keeps number spellings, uses JSON.stringify's escapes and takes the last of duplicate names", () => {
  const text = '{ "a" : 1, "\\u0061" : [ 12345678901234567890 , 1.0 , "\\u00e9\\/" , true ] }'
  const found = propertiesAt(text, valueAt(text, 0)).get('a')
  if (found === undefined) throw new Error('a property was not found')
  expect(compactJson(text, found)).toBe('[12345678901234567890,1.0,"é/",true]')
})
