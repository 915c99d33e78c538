/* Evidence, deliveries: A webhook's delivery starts one run, however often it arrives. Unsigned, old or broken deliveries
 * store nothing. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sessionIdOf } from '../../../functions/channels/webhooks/receive.ts'
import { fillTemplate, templateFault, valueAt } from '../../../functions/channels/webhooks/template.ts'
import { isSessionId } from '../../../functions/domain/ids.ts'
import type { Json } from '../../../functions/domain/json.ts'

const headers = new Headers({ 'x-id': 'seven' })
const fill = (template: string, body: Json): string => fillTemplate(template, { body, headers }).text

test('a pointer is replaced by its value: texts unchanged, other values as compact JSON, null as nothing', () => {
  const body = { a: 'x', n: 1.5, yes: true, no: null, list: [1, { b: 2 }], 'a/b': 's', 'm~n': 't', '': 'empty' }
  expect(fill('{{/a}} {{/n}} {{/yes}} [{{/no}}] {{/list}} {{/list/1/b}}', body)).toBe('x 1.5 true [] [1,{"b":2}] 2')
  expect(fill('{{/a~1b}}{{/m~0n}}{{/}}{{header:X-Id}}{{header:none}}', body)).toBe('stemptyseven')
  expect(fillTemplate('{{/no}}{{/a}}', { body, headers }).missing).toEqual(['{{/no}}'])
})

test('only own properties and valid indexes have a value', () => {
  for (const pointer of ['/constructor', '/__proto__', '/list/length', '/list/01', '/list/-', '/a/length', '/a/0'])
    expect(valueAt({ list: [1], a: 'xy' }, pointer), pointer).toBeUndefined()
})

test('a placeholder in an inserted value is not replaced', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (one, other) => {
      expect(fill('{{/one}}|{{/other}}', { one, other: `${other}{{/one}}` })).toBe(`${one}|${other}{{/one}}`)
    }),
  )
})

test('an invalid template is rejected when the program starts', () => {
  expect(templateFault('{{/a}} {{header:x-y}} {{/a~0b}} {} {{')).toBeUndefined()
  for (const template of ['{{a}}', '{{}}', '{{header:}}', '{{/a~2}}', '{{ /a }}'])
    expect(templateFault(template)).toBeDefined()
})

test('every text maps to a session id, deterministically; a short id maps to itself', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
      const id = sessionIdOf(text)
      expect(isSessionId(id)).toBe(true)
      expect(sessionIdOf(text)).toBe(id)
      if (isSessionId(text) && text.length <= 119) expect(id).toBe(text)
      else expect(id).toMatch(/-[0-9a-f]{8}$/)
    }),
  )
  expect(sessionIdOf('a b')).not.toBe(sessionIdOf('a/b'))
  expect(sessionIdOf('-a')).toMatch(/^x-a-[0-9a-f]{8}$/)
})
