import { createHash } from 'node:crypto'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../http/harness.ts'
import type { HttpHarness } from '../http/harness.ts'

const MAX_TOKENS = 2_500

let harness: HttpHarness
let client: Client
beforeEach(async () => {
  harness = await openHttpHarness()
  client = new Client({ name: 'test', version: '1' })
  const fetch = async (url: string | URL, init?: RequestInit) => harness.program.app.fetch(new Request(url, init))
  await client.connect(new StreamableHTTPClientTransport(new URL('http://localhost:3000/mcp'), { fetch }))
})
afterEach(async () => {
  await client.close()
  await harness.close()
})

const uuid = (n: number): string =>
  createHash('sha256')
    .update(`${n}`)
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/u, '$1-$2-$3-$4-$5')
const hash = (n: number): string => createHash('sha256').update(`${n}`).digest('hex')

/** Typical outputs of real programs, each several KB long. */
const OUTPUTS: readonly (readonly [string, (n: number) => string])[] = [
  ['a log of commits', (n) => `commit ${hash(n)}\nAuthor: Ann Lee <ann@example.com>\n\n    Fix the checkout total\n`],
  [
    'JSON',
    (n) => `{"id":${n},"sku":"A-${n}","note":"the \\"checkout\\" said:\\n\\t404","at":"2026-11-21T09:${n % 60}:00Z"},`,
  ],
  ['a stack', (n) => `TypeError: checkout is not a function\n    at run (/srv/app/dist/checkout/cart.js:${n}:17)\n`],
  ['base64', (n) => `checkout ${Buffer.from(hash(n) + hash(n + 1)).toString('base64')}\n`],
  ['a list of files', (n) => `-rw-r--r-- 1 ann ann ${n * 517} Nov 21 09:30 checkout-${hash(n).slice(0, 8)}.tsx\n`],
  ['numbers', (n) => `checkout ${n}.${n * 7}, ${n * 31}, 0x${hash(n).slice(0, 6)}, 10.0.${n % 255}.1; `],
  ['Chinese', (n) => `结账 checkout 页面在第${n}次提交后显示了错误的总价，需要重新计算税费。`],
  ['Russian', (n) => `Итог в checkout неверен: заказ ${n} показан без налога, проверьте округление. `],
  ['a table', (n) => `| ${n} | checkout | ✅ | ${n % 3 === 0 ? 'вкл' : 'off'} | 😀 |\n`],
  [
    'prose',
    () => 'The checkout shows the wrong total as soon as a discount and a tax apply to the same line of the cart. ',
  ],
]

/** Creates a session, and imports a turn with this output as the result of a call. */
async function imported(n: number, id: string, output: string): Promise<void> {
  const folder = `/home/ann/projects/customers/northwind/shop-frontend-${n}/packages/checkout`
  const metadata = { folder, source: 'claude-code', branch: `fix/checkout-total-${n}` }
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id, metadata })
  const call = { id: `toolu_${hash(n).slice(0, 24)}`, type: 'function' }
  const args = JSON.stringify({
    command: `grep -rn "checkout" src | head -50\ncat log`,
    description: 'Look for the checkout',
  })
  const question = `Why does the checkout of customer number ${n} show a total without tax, although the invoice has it?`
  const answer = `The checkout rounds before it adds the tax, see packages/checkout/src/totals.ts. `.repeat(8)
  await expectJson(harness, 200, 'POST', `/v1/sessions/${id}/import`, {
    format: 'openai',
    messages: [
      { role: 'user', content: question },
      { role: 'assistant', content: null, tool_calls: [{ ...call, function: { name: 'Bash', arguments: args } }] },
      { role: 'tool', tool_call_id: call.id, content: output },
      { role: 'assistant', content: answer },
    ],
  })
}

async function search(input: Record<string, unknown>) {
  const result = await client.callTool({ name: 'search_history', arguments: { query: 'checkout', ...input } })
  const text = result.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
  return { text, page: result.structuredContent as unknown as { data: unknown[]; next: string | null } }
}

describe('ten hits for a model', () => {
  test.each(OUTPUTS)('have at most 2,500 tokens, for outputs of %s', async (_name, line) => {
    for (let n = 0; n < 10; n++)
      await imported(n, `claude-code-${uuid(n)}`, Array.from({ length: 60 }, (_, at) => line(n * 60 + at)).join(''))
    for (const more of [{ role: 'tool_result' }, { group: 'session' }, { role: 'tool_call' }, {}, { sort: 'newest' }]) {
      const { text, page } = await search(more)
      expect(page.data).toHaveLength(10)
      expect(text.match(/^\[\d+\] session /gmu)).toHaveLength(10)
      expect(text).toContain('«')
      expect(countTokens(text), JSON.stringify(more)).toBeLessThanOrEqual(MAX_TOKENS)
    }
  })

  test('have at most 2,500 tokens for any session names, and cursors of at most 40 characters', async () => {
    for (let n = 0; n < 11; n++) {
      const id = (hash(n) + hash(n + 100)).slice(0, 128)
      await imported(n, id, `checkout ${hash(n).repeat(40)}`)
      await expectJson(harness, 200, 'PATCH', `/v1/sessions/${id}`, { title: hash(n + 200).repeat(6) })
    }
    const { text, page } = await search({ role: 'tool_result' })
    expect(countTokens(text)).toBeLessThanOrEqual(MAX_TOKENS)
    expect(page.next?.length).toBeLessThanOrEqual(40)
    expect((await search({ role: 'tool_result', after: page.next })).page.data).toHaveLength(1)
  })
})

test('a hit shows readable text: no Markdown marks, no JSON escapes, matches between « and »', async () => {
  await imported(1, 'a', '{"note":"the \\"checkout\\" said:\\n404"}')
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'b' })
  const content =
    '## Plan\nSee the **checkout** in `cart.ts` and [the docs](https://example.com/a), not `snake_case` or **kwargs'
  await expectJson(harness, 200, 'POST', '/v1/sessions/b/import', {
    format: 'openai',
    messages: [{ role: 'user', content }],
  })
  const { text: result } = await search({ role: 'tool_result' })
  expect(result).toContain('TOOL RESULT: {"note":"the "«checkout»" said: 404"}')
  const { text: call } = await search({ role: 'tool_call' })
  expect(call).toContain('command="grep -rn "«checkout»" src | head -50 cat log"')
  const { text: said } = await search({ session: 'b' })
  expect(said).toContain('USER: Plan See the «checkout» in cart.ts and the docs, not snake_case or **kwargs')
  expect(said).not.toMatch(/^\*\*/mu)
})
