/* Evidence, replay: Sources are numbered by round and sequence, whichever call ends first. A repeated request has the same
 * numbers. */
/* Evidence, replay: Citations are found in linear time, and never in code. Uncited sources are dropped from later requests
 * once. */
import { afterEach, describe, expect, it } from 'vitest'
import { TooltrailError } from '../../../../functions/domain/errors.ts'
import type { ModelRequest } from '../../../../functions/domain/model-request.ts'
import type { Source } from '../../../../functions/domain/messages/source.ts'
import type { Tool } from '../../../../functions/ports/tool.ts'
import { searchHistory } from '../../../../functions/tools/search-history.ts'
import { readOutput } from '../../../../functions/tools/read-output.ts'
import { makeTool, openHarness } from '../../harness.ts'
import type { Harness, Turn } from '../../harness.ts'

let harness: Harness
afterEach(() => harness.close())

const source = (name: string): Source => ({
  title: `Title ${name}`,
  url: `https://${name}.example/`,
  text: `Text ${name}`,
})

/** Creates a tool that returns a source for each letter of its argument. A `slow` call ends after the others. */
const cite = (): Tool => {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  return makeTool('cite', async (input) => {
    const { letters, slow } = input as { readonly letters: string; readonly slow?: boolean }
    if (slow === true) await promise
    else resolve(undefined)
    return { text: `about ${letters}`, sources: [...letters].map(source) }
  })
}

const calling = (...letters: readonly (string | { readonly letters: string; readonly slow: true })[]): Turn => ({
  calls: letters.map((one, place) => ({
    id: `call-${place}`,
    name: 'cite',
    arguments: JSON.stringify(typeof one === 'string' ? { letters: one } : one),
  })),
})

const resultsOf = (request: ModelRequest | undefined): string[] =>
  (request?.messages ?? []).flatMap(({ role, parts }) =>
    role === 'tool' ? parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])) : [],
  )

const shown = (number: number, name: string): string =>
  `[source${number}] Title ${name} — https://${name}.example/\nText ${name}`

describe('sources', () => {
  it('are numbered across the session by round and sequence, whichever call ends first', async () => {
    const script = [
      calling({ letters: 'ab', slow: true }, 'c'),
      calling('d'),
      { text: 'one' },
      calling('e'),
      { text: 'two' },
    ]
    harness = await openHarness({ script, tools: [cite()] })
    await harness.settled(await harness.submit('go'))
    await harness.settled(await harness.submit('again'))
    const first = [`about ab\n\n${shown(1, 'a')}\n${shown(2, 'b')}`, `about c\n\n${shown(3, 'c')}`]
    expect(resultsOf(harness.requests[1])).toEqual(first)
    expect(resultsOf(harness.requests[2])).toEqual([...first, `about d\n\n${shown(4, 'd')}`])
    expect(resultsOf(harness.requests[4])).toEqual([
      ...[...first, `about d\n\n${shown(4, 'd')}`],
      `about e\n\n${shown(5, 'e')}`,
    ])
    const { numbered } = await harness.ports.reader.sources(harness.key, { order: 'ascending', limit: 10 })
    expect(numbered.map(({ from, count }) => [from, count])).toEqual([
      [1, 2],
      [3, 1],
      [4, 1],
      [5, 1],
    ])
  })

  it('have the same numbers in another process if the completion of the request was never stored', async () => {
    const failing: Turn = async function* fails() {
      yield* []
      throw new Error('the model is gone')
    }
    harness = await openHarness({ script: [calling('ab'), { text: 'one' }, calling('c'), failing], tools: [cite()] })
    await harness.settled(await harness.submit('go'))
    expect((await harness.settled(await harness.submit('fail'))).status).toBe('failed')
    const next = harness.another([{ text: 'two' }])
    await next.settled(await next.submit('on'))
    expect(resultsOf(next.requests[0])[1]).toBe(`about c\n\n${shown(3, 'c')}`)
    expect(resultsOf(next.requests[0])).toEqual(resultsOf(harness.requests[3]))
  })

  it('follow a blank line, except after an empty text; titles have one line, missing fields are omitted', async () => {
    const bare = makeTool('bare', async () => ({
      text: '',
      sources: [{ title: 'A\r\ntitle\u2028of lines' }, { title: 'B', text: 'only text' }],
    }))
    harness = await openHarness({ script: [{ calls: [{ name: 'bare' }] }, { text: 'done' }], tools: [bare] })
    await harness.settled(await harness.submit('go'))
    expect(resultsOf(harness.requests[1])).toEqual(['[source1] A title of lines\n[source2] B\nonly text'])
  })

  it('that are invalid or beyond the first hundred are omitted with a warning', async () => {
    const many = Array.from({ length: 102 }, (_, place) => source(String(place)))
    const wrong = [{ title: ' ' }, { title: 'x', url: 'javascript:alert(1)' }, 7] as unknown as Source[]
    const mixed = makeTool('mixed', async () => ({ text: 'x', sources: [...wrong, ...many] }))
    harness = await openHarness({ script: [{ calls: [{ name: 'mixed' }] }, { text: 'done' }], tools: [mixed] })
    await harness.settled(await harness.submit('go'))
    expect(resultsOf(harness.requests[1])[0]?.match(/\[source\d+\]/g)).toHaveLength(97)
    expect(harness.events.filter(({ type }) => type === 'warning')).toMatchObject([
      { code: 'sources_dropped', detail: expect.stringContaining('8 of the 105 sources of mixed()') as string },
    ])
  })

  it('with a large text are replaced by a preview, and the full text is readable by its pointer', async () => {
    const large = `begins ${'x'.repeat(60_000)}\nthe last line`
    const tool = makeTool('large', async () => ({
      text: 'short',
      sources: [{ title: 'A' }, { title: 'B', text: large }],
    }))
    harness = await openHarness({
      script: [{ calls: [{ name: 'large' }] }, { text: 'done' }],
      tools: [tool, readOutput],
    })
    await harness.settled(await harness.submit('go'))
    const [result = ''] = resultsOf(harness.requests[1])
    const row = (await harness.log()).find(({ role }) => role === 'tool')
    expect(result).toMatch(
      /^short\n\n\[source1\] A\n\[source2\] B\nbegins x+\n\n\[Full text: output:\w+\.2, 60\.0 KB, 2 lines\]$/,
    )
    const next = harness.another([
      { calls: [{ name: 'read_output', arguments: JSON.stringify({ pointer: `output:${row?.id}.2`, lines: '61-' }) }] },
      { calls: [{ name: 'read_output', arguments: JSON.stringify({ pointer: `output:${row?.id}.1` }) }] },
      { text: 'read' },
    ])
    await next.settled(await next.submit('read it'))
    const read = resultsOf(next.requests[2])
    expect(read[1]).toContain('the last line')
    expect(read[2]).toContain('there is no output behind')
  })

  it('without numbers, because the store lost them, are dropped with a warning', async () => {
    harness = await openHarness({
      script: [calling('a'), { text: 'done' }],
      tools: [cite()],
      change: (ports) => ({
        ...ports,
        reader: {
          ...ports.reader,
          sources: async () => Promise.reject(new TooltrailError('output_not_found', 'it is gone')),
        },
      }),
    })
    expect((await harness.settled(await harness.submit('go'))).status).toBe('completed')
    expect(resultsOf(harness.requests[1])).toEqual(['about a'])
    expect(harness.events.filter(({ type }) => type === 'warning')).toMatchObject([{ code: 'sources_unavailable' }])
  })
})

describe('under the policy `cited`', () => {
  const policies = { sources: 'cited' } as const

  it('sources that the final completion does not cite are omitted in later runs, and numbers never change', async () => {
    const script = [
      calling('abc', 'd'),
      { text: 'As [source2] says, not `[source4]`.' },
      { text: 'And [source4].' },
      calling('e'),
      { text: 'Nothing cited.' },
      { text: 'Last.' },
    ]
    harness = await openHarness({ script, tools: [cite()], policies })
    await harness.settled(await harness.submit('one'))
    const whole = [`about abc\n\n${shown(1, 'a')}\n${shown(2, 'b')}\n${shown(3, 'c')}`, `about d\n\n${shown(4, 'd')}`]
    expect(resultsOf(harness.requests[1])).toEqual(whole)
    for (const text of ['two', 'three', 'four']) await harness.settled(await harness.submit(text))
    const left = [
      `about abc\n\n${shown(2, 'b')}\n[sources 1, 3: not cited, left out]`,
      'about d\n\n[sources 4: not cited, left out]',
    ]
    expect(resultsOf(harness.requests[2])).toEqual(left)
    expect(resultsOf(harness.requests[4])).toEqual([...left, `about e\n\n${shown(5, 'e')}`])
    expect(resultsOf(harness.requests[5])).toEqual(resultsOf(harness.requests[4]))
    const { citations } = await harness.ports.reader.context(harness.key)
    expect(citations?.cited).toEqual([
      [2, 2],
      [4, 4],
    ])
    expect(citations?.uncited).toEqual([
      [1, 1],
      [3, 5],
    ])
    const bodies = harness.requests.slice(2).map(({ messages }) => JSON.stringify(messages).slice(1, -1))
    for (const [place, body] of bodies.slice(1).entries()) expect(body.startsWith(bodies[place] ?? '?')).toBe(true)
  })

  it('a failed run makes no decision; the run that continues it decides for both', async () => {
    const failing: Turn = async function* fails() {
      yield* []
      throw new Error('the model is gone')
    }
    const script = [calling('ab'), failing, calling('c'), { text: 'As [source1] says.' }, { text: 'Next.' }]
    harness = await openHarness({ script, tools: [cite()], policies })
    await harness.settled(await harness.submit('one'))
    expect(await harness.ports.reader.context(harness.key)).toEqual({})
    const { runId } = await harness.service.continue(harness.session, {}, { here: true })
    await harness.settled(runId)
    expect((await harness.ports.reader.context(harness.key)).citations).toEqual({
      cited: [[1, 1]],
      uncited: [[2, 3]],
      left: [[2, 3]],
    })
    await harness.settled(await harness.submit('two'))
    expect(resultsOf(harness.requests.at(-1))).toEqual([
      `about ab\n\n${shown(1, 'a')}\n[sources 2: not cited, left out]`,
      'about c\n\n[sources 3: not cited, left out]',
    ])
  })

  it('a summary of the conversation retains the decisions about its sources', async () => {
    const consolidation = { threshold: 2, keepRecentRatio: 0.5 }
    const script = [calling('ab'), { text: '[source1]' }, { text: 'so far' }, { text: 'Second.' }]
    harness = await openHarness({ script, tools: [cite()], policies: { sources: 'cited', consolidation } })
    await harness.settled(await harness.submit('one'))
    await harness.service.consolidate(harness.session, {})
    const decided = await harness.ports.reader.context(harness.key)
    expect(decided).toMatchObject({ summary: { text: 'so far' }, citations: { cited: [[1, 1]], uncited: [[2, 2]] } })
  })
})

it('search finds the full texts of sources, even offloaded ones; the agent sees their numbers and titles', async () => {
  const large = `${'filler '.repeat(9_000)}the zebra crossing`
  const tool = makeTool('cite', async () => ({
    text: 'see there',
    sources: [
      { title: 'On quokkas', text: 'A quokka smiles.' },
      { title: 'On\nzebras', text: large },
    ],
  }))
  const search = (query: string): Turn => ({
    calls: [{ name: 'search_history', arguments: JSON.stringify({ query }) }],
  })
  const script = [calling('a'), { text: 'done' }, search('quokka smiles'), search('zebra crossing'), { text: 'found' }]
  harness = await openHarness({ script, tools: [tool, searchHistory] })
  await harness.settled(await harness.submit('go'))
  await harness.settled(await harness.submit('look'))
  const [, quokka = '', zebra = ''] = resultsOf(harness.requests.at(-1))
  expect(quokka).toContain('A quokka smiles.')
  expect(quokka).toContain('SOURCES: [source1] On quokkas; [source2] On zebras')
  expect(zebra).toContain('zebra crossing')
  expect(zebra).toContain('[source2] On zebras')
})
