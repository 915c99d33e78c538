/* Evidence, search: Texts about repeated lookups rank below the events themselves, whatever the query's words are. */
/* Evidence, limits: Scoring yields to other work, whatever the texts are. Searches of different tenants are scored
 * alternately. */
import { describe, expect, it } from 'vitest'
import type { HistoryRole } from '../../../functions/domain/history.ts'
import { fold } from '../../../functions/search/tokens/fold-text.ts'
import type { Candidate } from '../../../functions/search/ranking/rows.ts'
import { rankEvents } from '../../../functions/search/ranking/score.ts'
import { matchesOf, readable } from '../../../functions/search/query/term-matches.ts'
import { plan } from '../made-vocabulary.ts'
import { longestTurn, processorTime, processorTimeOf } from '../../processor-time.ts'

interface Said {
  readonly text: string
  readonly role?: HistoryRole
  readonly tool?: string
  readonly call?: string
  readonly event?: number
  readonly run?: string
  readonly searched?: boolean
  readonly task?: boolean
}

/** Returns a function that ranks these texts by a query. */
function finder(query: string, texts: readonly (string | Said)[]): () => Promise<string[]> {
  const candidates = texts.map((one, index): Candidate => {
    const said: Said = typeof one === 'string' ? { text: one } : one
    const { text, role = 'user', tool, call, event = index, run = `run-${event}` } = said
    const { searched = false, task = false } = said
    return { id: index, event, role, runId: run, toolName: tool, call, text, time: index, searched, task }
  })
  const { parsed, terms } = plan(
    query,
    candidates.map(({ text, call }) => `${text} ${call ?? ''}`),
  )
  const searchedRuns = async (): Promise<ReadonlySet<string>> => new Set()
  const scoring = { tenant: 't', query: parsed, terms, searchedRuns, fits: () => true }
  return async () => (await rankEvents(scoring, candidates)).events.map(({ best }) => best.text)
}

/** Returns the texts in their order of rank. */
const ranked = (query: string, texts: readonly (string | Said)[]): Promise<string[]> => finder(query, texts)()

describe('ranking', () => {
  it('texts with more words of the query rank first', async () => {
    expect(
      await ranked('refund invoice Berlin', ['an invoice', 'refund the invoice in Berlin', 'refund an invoice']),
    ).toEqual(['refund the invoice in Berlin', 'refund an invoice', 'an invoice'])
  })

  it('a rare word counts more than common ones', async () => {
    const [first] = await ranked('order zebra', ['order one', 'order two', 'order three', 'the zebra', 'order four'])
    expect(first).toBe('the zebra')
  })

  it('whole words rank before parts of identifiers, and parts of identifiers rank before parts of words', async () => {
    expect(await ranked('port', ['important', 'portal', 'the import_port', 'the port is open'])).toEqual([
      'the port is open',
      'the import_port',
      'portal',
      'important',
    ])
  })

  it('adjacent words rank before separate ones', async () => {
    const apart = 'a payment of some weeks ago, for which nobody has ever chosen any method'
    expect(await ranked('payment method', [apart, 'the payment_method_id'])).toEqual(['the payment_method_id', apart])
  })

  it('an exact word ranks before a word one typo away', async () => {
    expect(await ranked('amouet', ['the amount', 'the amouet'])).toEqual(['the amouet', 'the amount'])
  })

  it('a text with the literal query, even inside words, ranks before similar words', async () => {
    expect((await ranked('isibleWid', ['visible or wide', 'export visibleWidth']))[0]).toBe('export visibleWidth')
  })

  it('equally good texts are ordered newest first', async () => {
    expect(await ranked('deploy', ['deploy it', 'deploy me', 'deploy us'])).toEqual([
      'deploy us',
      'deploy me',
      'deploy it',
    ])
  })

  it('calls of a tool named in the query rank before similar calls of other tools', async () => {
    const call = (tool: string): Said => ({ text: `${tool}(city="Oslo")`, role: 'tool_call', tool })
    expect((await ranked('get weather Oslo', [call('get_weather'), call('get_population')]))[0]).toBe(
      'get_weather(city="Oslo")',
    )
  })

  it("a call and its result are one event, and the part that contains the query's words is shown", async () => {
    const call = 'shell(cmd="git status")'
    const event: Said[] = [
      { text: call, role: 'tool_call', tool: 'shell', call, event: 1 },
      { text: 'On branch main', role: 'tool_result', tool: 'shell', call, event: 1 },
    ]
    expect(await ranked('git status', event)).toEqual([call])
    expect(await ranked('branch main', event)).toEqual(['On branch main'])
  })

  it('words of a call and of its result count together', async () => {
    const event = (city: string, weather: string, number: number): Said[] => [
      { text: `weather(city="${city}")`, role: 'tool_call', event: number },
      { text: weather, role: 'tool_result', call: `weather(city="${city}")`, event: number },
    ]
    const events = [...event('Oslo', 'snow', 1), ...event('Rome', 'snow', 2), ...event('Oslo', 'rain', 3)]
    expect((await ranked('Rome snow', events))[0]).toBe('weather(city="Rome")')
  })

  it.each([
    ['what did I say about the refund', 'user'],
    ['what did you answer on the refund', 'assistant'],
    ['which call returned the refund', 'tool_result'],
  ] as const)('texts of the speaker in the query rank first: %s', async (query, role) => {
    const roles: HistoryRole[] = ['user', 'assistant', 'tool_result']
    const said = roles.map((one) => ({ text: `the refund, ${one}`, role: one }))
    expect((await ranked(query, said))[0]).toBe(`the refund, ${role}`)
  })
})

describe('text about the history', () => {
  const event = 'the red crate went into the shed'
  const answer: Said = { text: 'The red crate: it went into the shed', role: 'assistant', run: 'later', searched: true }
  const question: Said = { text: 'Where is the red crate, please?', run: 'later' }
  const reported: Said = { text: 'Now the red crate is in the attic', run: 'later' }

  it('ranks below the events, whatever the words of the query', async () => {
    expect((await ranked('crate shed', [event, question, answer]))[0]).toBe(event)
    expect((await ranked('the crate', [event, question, answer]))[0]).toBe(event)
  })

  it("does not include a user's statement in a run that searched the history", async () =>
    expect((await ranked('the crate', [event, reported, answer])).at(-1)).toBe(answer.text))

  it.each([
    'Have moved the red crate to the attic.',
    'Please note that the red crate is in the attic',
    'It leaks. Do not touch the red crate',
  ])("does not include a user's statement that opens like a question: %s", async (text) =>
    expect((await ranked('red crate', ['a red car', { ...reported, text }, answer]))[0]).toBe(text),
  )

  it('ranks like other text if the query asks what the assistant said', async () =>
    expect((await ranked('what did the assistant say about the red crate', [event, answer]))[0]).toBe(answer.text))
})

/** Returns the minimum of three measurements, to exclude the effect of other work. */
async function leastTime(work: () => unknown): Promise<number> {
  const often = async (): Promise<void> => {
    for (let time = 0; time < TIMES; time++) await work()
  }
  const times = [await processorTimeOf(often), await processorTimeOf(often), await processorTimeOf(often)]
  return Math.min(...times) / TIMES
}
/** Repetitions per measurement, because the system counts processor time in steps of several milliseconds. */
const TIMES = 5

const LETTERS = Array.from('abcdefghijklmnopqrstuvwxyz0123456789')

describe('slow texts', () => {
  it.each(['aİ', 'é', '\uFB01'])('take at most six times as long to score as to fold: %s', async (letters) => {
    const texts = Array.from({ length: 100 }, () => letters.repeat(4_000 / letters.length))
    const folding = await leastTime(() => texts.forEach(fold))
    expect(await leastTime(finder('a', texts))).toBeLessThan(6 * folding)
  })

  it("match only a limited number of typos of the query's words", async () => {
    const query = Array.from('abcdefgh', (letter) => `qqq${letter}`).join(' ')
    const typos = LETTERS.slice(8).flatMap((letter) => [`qqq${letter}`, `qqq${letter}a`])
    const text = `${typos.join(' ')} `.repeat(15).slice(0, 4_000)
    const { terms } = plan(query, [text])
    for (const { soughtTexts } of terms) expect(soughtTexts.length).toBeLessThan(50)
    const matches = terms.map((term) => matchesOf(term, readable(text)).length)
    expect(Math.max(...matches)).toBeLessThanOrEqual(24)
  })

  it('do not block the event loop, however many searches score them', async () => {
    const texts = Array.from({ length: 20 }, (_, place) => `crate ${place} ${'\uFDFA'.repeat(3_900)}`)
    const finders = Array.from({ length: 20 }, () => finder('crate', texts))
    const before = processorTime()
    const longest = await longestTurn(() => Promise.all(finders.map((find) => find())))
    expect(longest).toBeLessThan((processorTime() - before) / 10)
  })
})
