import { describe, expect, test } from 'vitest'
import type { SearchHit } from '../../functions/client/api-types.ts'
import { addressOf, plainText, splitAtMatches } from '../../page/search/plain-snippet.ts'

describe('a snippet is plain text:', () => {
  test.each([
    ['emphasis', '…is in the **«amber» lantern** of _«this»_ room', '…is in the «amber» lantern of «this» room'],
    ['marks inside of a match', 'the **amber «lantern»** burns', 'the amber «lantern» burns'],
    ['code', 'run `git «status»` and ``a*b``', 'run git «status» and a*b'],
    ['a globbed path in code', 'all `*.ts` files', 'all *.ts files'],
    ['a fence', 'so: ``` «npm» ci ``` done', 'so: «npm» ci done'],
    ['headings and a list', '## The «plan» ### Then', 'The «plan» Then'],
    ['a quotation', '> «said» so', '«said» so'],
    ['a link', 'see [the «guide»](https://example.com/a_b_c) here', 'see the «guide» here'],
    ['a match in an address', 'see [it](https://«example».com)', 'see it https://«example».com'],
    ['a table', '| a | b | |---|:--:| | «c» | d |', '| a | b | | «c» | d |'],
    ['words that hold the characters', 'snake_«case»_name and 2 * 3', 'snake_«case»_name and 2 * 3'],
  ])('%s', (_name, snippet, plain) => {
    expect(plainText(snippet, 'assistant')).toBe(plain)
  })

  test.each([
    ['quotation marks', String.raw`{"a":"say \"«hello»\""}`, '{"a":"say "«hello»""}'],
    ['line breaks and tabs', String.raw`write(text="one\n\t«two»")`, 'write(text="one «two»")'],
    ['characters by code', String.raw`{"a":"caf\u00e9 «noir»"}`, '{"a":"café «noir»"}'],
    ['a path of Windows', String.raw`{"path":"C:\\new\\«file»"}`, String.raw`{"path":"C:\new\«file»"}`],
    ['text that is no JSON', String.raw`cannot open C:\new\«file»`, String.raw`cannot open C:\new\«file»`],
    ['Markdown that is data', '**«bold»** `x`', '**«bold»** `x`'],
  ])('a tool result with %s', (_name, snippet, plain) => {
    expect(plainText(snippet, 'tool_result')).toBe(plain)
  })

  test('a snippet that is split has its matches at odd indexes', () => {
    expect(splitAtMatches('a «b» c «d»')).toEqual(['a ', 'b', ' c ', 'd', ''])
  })
})

describe('the link of a hit', () => {
  const hit = { session_id: 'a/b', message_id: 'M1', role: 'assistant', snippet: 'the «amber lantern» and «amber»' }

  test('contains each matched word once', () => {
    expect(addressOf(hit as SearchHit)).toBe('/sessions/a%2Fb?words=amber+lantern#M1')
  })

  test.each([
    ['tool_call', 'completed', 'Arguments'],
    ['tool_result', 'completed', 'Result'],
    ['tool_result', 'error', 'Error'],
  ])('names the matched part of a call: %s, %s', (role, status, value) => {
    expect(addressOf({ ...hit, role, status } as SearchHit)).toContain(`&in=${value}#`)
  })

  test('contains no query if nothing matched', () => {
    expect(addressOf({ ...hit, snippet: 'nothing' } as SearchHit)).toBe('/sessions/a%2Fb#M1')
  })
})
