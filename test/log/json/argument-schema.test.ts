/* Evidence, limits: Reading a client tool's schema takes linear time. A check of arguments takes 250 ms at most. */
import { expect, test } from 'vitest'
import type { JsonObject } from '../../../functions/domain/json.ts'
import { schemaFault } from '../../../functions/log/json/argument-schema.ts'
import { processorTime } from '../../processor-time.ts'

const many = (count: number, schema: JsonObject): JsonObject[] => Array.from({ length: count }, () => schema)
const nestedObjects = (depth: number): JsonObject =>
  depth === 0 ? { type: 'string' } : { type: 'object', properties: { a: nestedObjects(depth - 1) } }
const nested = (depth: number): JsonObject => (depth === 0 ? {} : { items: nested(depth - 1) })
const definitions = (count: number, schema: (next: JsonObject) => JsonObject): JsonObject => ({
  $ref: '#/$defs/d0',
  $defs: Object.fromEntries(
    Array.from({ length: count + 1 }, (_, at) => [
      `d${at}`,
      at < count ? schema({ $ref: `#/$defs/d${at + 1}` }) : { type: 'object' },
    ]),
  ),
})

test.each<[string, JsonObject]>([
  ['that allows all', {}],
  [
    'with definitions, anchors and an id',
    {
      $id: 'https://example.com/tool',
      properties: {
        city: { $ref: '#/$defs/name' },
        zip: { $ref: '#code' },
        same: { $ref: 'https://example.com/tool#/$defs/name' },
        odd: { $ref: '#/$defs/a~1b%20c' },
      },
      $defs: { name: { type: 'string' }, code: { $anchor: 'code', pattern: '^[0-9]+$' }, 'a/b c': true },
    },
  ],
  [
    'that is recursive as trees are',
    {
      type: 'object',
      properties: {
        children: { type: 'array', items: { $ref: '#' } },
        parent: { anyOf: [{ $ref: '#' }, { type: 'null' }] },
      },
    },
  ],
  [
    'with properties that are called as keywords are',
    {
      properties: { pattern: { type: 'string' }, $ref: { type: 'string' }, const: { type: 'string' }, required: {} },
    },
  ],
  [
    'with values that look like schemas',
    { properties: { a: { default: { $ref: 'nowhere' }, const: { pattern: '(' } } } },
  ],
  ['with a reference to nowhere', { properties: { a: { $ref: '#/$defs/none' } } }],
  ['with a reference to what is inherited', { $ref: '#/__proto__/x' }],
  ['with a reference to another server', { items: { $ref: 'https://example.com/schema' } }],
  ['with patterns of other dialects', { properties: { a: { pattern: '(' }, b: { pattern: '\\Aa' } } }],
  ['with a property pattern of another dialect', { patternProperties: { '(?i)x': {} } }],
  ['with a long pattern', { pattern: 'a'.repeat(501) }],
  ['with a type of another dialect', { type: 'OBJECT' }],
  ['with keywords of another form', { type: null, required: null, properties: [], enum: 5 }],
  ['with an example that looks like a schema', { example: { allOf: many(600, {}), $ref: 'x' } }],
  ['of 28 objects within each other', nestedObjects(28)],
  ['of 32 lists within each other', nested(32)],
])('a schema %s is accepted', (_name, schema) => expect(schemaFault(schema)).toBeUndefined())

test.each<[string, JsonObject, string | RegExp]>([
  ['whose references double', definitions(30, (next) => ({ anyOf: [next, next] })), /^\$defs\.d[12]\d\b/],
  [
    'whose references double through not and if',
    definitions(30, (next) => ({ not: next, if: next })),
    /^\$defs\.d[12]\d\b/,
  ],
  ['that applies itself', { allOf: [{ $ref: '#' }] }, 'allOf.0'],
  [
    'that applies itself by a detour',
    {
      ...definitions(1, (next) => ({ not: next })),
      $defs: { d0: { not: { $ref: '#/$defs/d1' } }, d1: { oneOf: [{ $ref: '#' }] } },
    },
    '$defs.d1.oneOf.0',
  ],
  ['with 101 references', { $defs: { a: {} }, prefixItems: many(101, { $ref: '#/$defs/a' }) }, 'prefixItems.100.$ref'],
  ['with more than 2,000 nodes', { anyOf: many(2_000, {}) }, ''],
  ['that is nested too deep', nested(40), Array.from({ length: 33 }, () => 'items').join('.')],
])('a schema %s is rejected with the path of the fault', (_name, schema, path) => {
  const before = processorTime()
  const found = schemaFault(schema)?.path.join('.')
  if (typeof path === 'string') expect(found).toBe(path)
  else expect(found).toMatch(path)
  expect(processorTime() - before).toBeLessThan(500)
})
