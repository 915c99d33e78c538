/* Evidence, limits: Reading a client tool's schema takes linear time. A check of arguments takes 250 ms at most. */
import { Validator } from '@cfworker/json-schema'
import type { Schema } from '@cfworker/json-schema'
import { expect, test } from 'vitest'
import type { Json, JsonObject } from '../../../functions/domain/json.ts'
import { checkableSchema } from '../../../functions/log/json/checkable-schema.ts'

function check(parameters: JsonObject, input: Json): boolean {
  const { schema, draft } = checkableSchema(parameters)
  return new Validator(schema as Schema, draft).validate(input).valid
}

const of = (a: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties: { a }, ...more })

test.each<[string, JsonObject, Json, Json]>([
  ['an exclusive limit of draft 4', of({ type: 'number', minimum: 1, exclusiveMinimum: true }), { a: 2 }, { a: 1 }],
  ['a limit of draft 4 that includes', of({ maximum: 1, exclusiveMaximum: false }), { a: 1 }, { a: 2 }],
  [
    'an exclusive limit in a schema that names draft 4',
    of({ minimum: 1, exclusiveMinimum: true }, { $schema: 'http://json-schema.org/draft-04/schema#' }),
    { a: 2 },
    { a: 1 },
  ],
  ['a tuple of draft 7', of({ items: [{ type: 'string' }], additionalItems: false }), { a: ['x'] }, { a: ['x', 1] }],
  ['null as a keyword', of({ type: 'string', enum: null, minLength: null }, { required: null }), { a: '' }, { a: 1 }],
  [
    'null as the schema of a property',
    of({}, { properties: { a: null }, additionalProperties: false }),
    { a: 1 },
    { b: 1 },
  ],
  ['null as a constant', of({ const: null }), { a: null }, { a: 1 }],
  ['nullable of OpenAPI', of({ type: 'string', enum: ['x'], nullable: true }), { a: null }, { a: 1 }],
  ['types in capitals', { type: 'OBJECT', properties: { a: { type: 'STRING' } } }, { a: 'x' }, { a: 1 }],
  ['an empty list for an empty object', { type: 'object', properties: [] }, {}, []],
  [
    'properties with the names of keywords',
    of({}, { properties: { format: { type: 'string' } } }),
    { format: 'x' },
    { format: 1 },
  ],
])('%s accepts a matching value and rejects a value that does not match', (_name, parameters, fits, other) => {
  expect(checkableSchema(parameters).reading).toBe('whole')
  expect(check(parameters, fits)).toBe(true)
  expect(check(parameters, other)).toBe(false)
})

test.each<[string, string]>([
  ['date-time', '2026-01-01T00:00:00'],
  ['hostname', 'my_host'],
  ['uri', 'not an address'],
  ['email', 'ann'],
])('the format %s is not enforced', (format, a) => {
  expect(checkableSchema(of({ type: 'string', format })).reading).toBe('whole')
  expect(check(of({ type: 'string', format }), { a })).toBe(true)
})

test.each<[string, JsonObject]>([
  ['a pattern of another dialect', { pattern: '(?i)^abc$' }],
  ['a pattern with an escaped colon', { pattern: '^https\\:' }],
  ['a pattern of a thousand characters', { pattern: 'a'.repeat(1_000) }],
  ['a type of another language', { type: 'str' }],
  ['a limit in words', { minLength: 'two' }],
  ['required of draft 3', { required: true }],
  ['a text as a schema', { items: 'string' }],
  [
    'a property pattern of another dialect',
    { patternProperties: { '(?i)x': { type: 'string' } }, additionalProperties: false },
  ],
])('%s is dropped, and the rest of the schema is checked', (_name, a) => {
  const parameters: JsonObject = { type: 'object', properties: { a, b: { type: 'number' } } }
  expect(checkableSchema(parameters).reading).toBe('partial')
  expect(check(parameters, { a: { x: 1 }, b: 1 })).toBe(true)
  expect(check(parameters, { a: { x: 1 }, b: 'x' })).toBe(false)
})

test.each<[string, JsonObject]>([
  ['not', { not: { pattern: '(?i)x' } }],
  ['oneOf', { oneOf: [{ pattern: '(?i)x' }, { type: 'string' }] }],
  ['if', { if: { pattern: '(?i)x' }, else: false }],
])('a schema with %s and a dropped keyword is not checked', (_name, a) => {
  expect(checkableSchema(of(a)).reading).toBe('unreadable')
})
