import { fc } from '../generators/seeded.ts'
import { describe, expect, it } from 'vitest'
import { callText } from '../../functions/log/call-text.ts'

const render = (json: string): string => callText({ name: 'tool', arguments: json })

describe('call text', () => {
  it('has the form name(key=value, …), with values as compact JSON', () => {
    expect(render('{ "cmd": "git status", "deep": { "a": [1, 2] } }')).toBe('tool(cmd="git status", deep={"a":[1,2]})')
  })

  it.each(['', '  ', '{}', '{ }'])('has the form name() for a call without arguments: %j', (raw) => {
    expect(render(raw)).toBe('tool()')
  })

  it.each(['{"a":', '[1]', 'null', '"text"', '{"a":1} trailing', 'rm -rf'])(
    'quotes malformed arguments and arguments that are no object unchanged: %j',
    (raw) => {
      expect(render(raw)).toBe(`tool(${raw})`)
    },
  )

  it("keeps the spelling of the model's numbers", () => {
    expect(render('{"t":4.0,"id":12345678901234567890,"e":1e5,"z":-0}')).toBe(
      'tool(t=4.0, id=12345678901234567890, e=1e5, z=-0)',
    )
  })

  it("keeps the model's order of keys, including integer-like keys and __proto__", () => {
    expect(render('{"b":1,"10":2,"2":3,"__proto__":4,"a":{"9":1,"1":2}}')).toBe(
      'tool(b=1, 10=2, 2=3, __proto__=4, a={"9":1,"1":2})',
    )
  })

  it('decodes escape sequences, so that a search finds the characters', () => {
    expect(render(String.raw`{"q":"\u4e2d\u6587 caf\u00e9"}`)).toBe('tool(q="中文 café")')
  })

  it('contains arguments nested 50,000 deep unchanged', () => {
    const raw = `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`
    expect(render(raw)).toBe(`tool(${raw})`)
  })

  it.each(['x', '字', '😀', String.raw`\n`])('accepts strings of several megabytes: %s', (piece) => {
    const value = piece.repeat(24_000_000 / piece.length)
    expect(render(`{"a":"${value}"}`) === `tool(a="${value}")`).toBe(true)
  })

  it('writes each value as JSON.stringify does, except numbers', () => {
    const json = fc.dictionary(
      fc.string(),
      fc.jsonValue().filter((value) => !Object.is(value, -0)),
    )
    fc.assert(
      fc.property(json, (value) => {
        const raw = JSON.stringify(value)
        const ordered = JSON.parse(raw) as { [key: string]: unknown }
        const pairs = Object.entries(ordered).map(([key, inner]) => `${key}=${JSON.stringify(inner)}`)
        expect(render(JSON.stringify(ordered, null, 2))).toBe(`tool(${pairs.join(', ')})`)
      }),
    )
  })
})
