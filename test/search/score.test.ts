import { describe, expect, it } from 'vitest'
import type { HistoryRole } from '../../functions/domain/history.ts'
import { fold } from '../../functions/search/fold-text.ts'
import { scoreEvents, type Candidate } from '../../functions/search/score.ts'
import { plan } from './made-vocabulary.ts'

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

/** The texts in the order in which the query finds them. */
function ranked(query: string, texts: readonly (string | Said)[]): string[] {
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
  return scoreEvents(parsed, terms, candidates).map(({ best }) => best.text)
}

describe('ranking', () => {
  it('more of the query comes before less of it', () => {
    expect(
      ranked('refund invoice Berlin', ['an invoice', 'refund the invoice in Berlin', 'refund an invoice']),
    ).toEqual(['refund the invoice in Berlin', 'refund an invoice', 'an invoice'])
  })

  it('a rare word counts more than common ones', () => {
    const [first] = ranked('order zebra', ['order one', 'order two', 'order three', 'the zebra', 'order four'])
    expect(first).toBe('the zebra')
  })

  it('whole words come before parts of identifiers, and those before pieces of words', () => {
    expect(ranked('port', ['important', 'portal', 'the import_port', 'the port is open'])).toEqual([
      'the port is open',
      'the import_port',
      'portal',
      'important',
    ])
  })

  it('words that stand together come before words apart', () => {
    const apart = 'a payment of some weeks ago, for which nobody has ever chosen any method'
    expect(ranked('payment method', [apart, 'the payment_method_id'])).toEqual(['the payment_method_id', apart])
  })

  it('the word as it is comes before a word one slip away', () => {
    expect(ranked('amouet', ['the amount', 'the amouet'])).toEqual(['the amouet', 'the amount'])
  })

  it('a text that has the query as it stands, even within words, comes before similar words', () => {
    expect(ranked('isibleWid', ['visible or wide', 'export visibleWidth'])[0]).toBe('export visibleWidth')
  })

  it('equals come newest first', () => {
    expect(ranked('deploy', ['deploy it', 'deploy me', 'deploy us'])).toEqual(['deploy us', 'deploy me', 'deploy it'])
  })

  it('a tool that is named comes before others that were called alike', () => {
    const call = (tool: string): Said => ({ text: `${tool}(city="Oslo")`, role: 'tool_call', tool })
    expect(ranked('get weather Oslo', [call('get_weather'), call('get_population')])[0]).toBe(
      'get_weather(city="Oslo")',
    )
  })

  it('call and result are one event, of which the half that has the words is shown', () => {
    const call = 'shell(cmd="git status")'
    const event: Said[] = [
      { text: call, role: 'tool_call', tool: 'shell', call, event: 1 },
      { text: 'On branch main', role: 'tool_result', tool: 'shell', call, event: 1 },
    ]
    expect(ranked('git status', event)).toEqual([call])
    expect(ranked('branch main', event)).toEqual(['On branch main'])
  })

  it('words that a call and its result have together count together', () => {
    const event = (city: string, weather: string, number: number): Said[] => [
      { text: `weather(city="${city}")`, role: 'tool_call', event: number },
      { text: weather, role: 'tool_result', call: `weather(city="${city}")`, event: number },
    ]
    const events = [...event('Oslo', 'snow', 1), ...event('Rome', 'snow', 2), ...event('Oslo', 'rain', 3)]
    expect(ranked('Rome snow', events)[0]).toBe('weather(city="Rome")')
  })

  it.each([
    ['what did I say about the refund', 'user'],
    ['what did you answer on the refund', 'assistant'],
    ['which call returned the refund', 'tool_result'],
  ] as const)('whose words are asked for come first: %s', (query, role) => {
    const roles: HistoryRole[] = ['user', 'assistant', 'tool_result']
    const said = roles.map((one) => ({ text: `the refund, ${one}`, role: one }))
    expect(ranked(query, said)[0]).toBe(`the refund, ${role}`)
  })
})

describe('what was said about the history', () => {
  const event = 'the red crate went into the shed'
  const answer: Said = { text: 'The red crate: it went into the shed', role: 'assistant', run: 'later', searched: true }
  const question: Said = { text: 'Where is the red crate, please?', run: 'later' }
  const told: Said = { text: 'Now the red crate is in the attic', run: 'later' }

  it('ranks below what happened, whatever words it was looked up with', () => {
    expect(ranked('crate shed', [event, question, answer])[0]).toBe(event)
    expect(ranked('the crate', [event, question, answer])[0]).toBe(event)
  })

  it('is not what a person told in the same run', () =>
    expect(ranked('the crate', [event, told, answer]).at(-1)).toBe(answer.text))

  it('ranks as all else for a query for what somebody said', () =>
    expect(ranked('what did the assistant say about the red crate', [event, answer])[0]).toBe(answer.text))
})

/** Milliseconds of processor time. */
function processorTime(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

describe('texts full of letters that folding changes', () => {
  it.each(['aİ', 'é', '\uFB01'])('are scored in a few times what folding them takes: %s', (letters) => {
    const text = letters.repeat(4_000 / letters.length)
    const texts = Array.from({ length: 100 }, () => text)
    const score = (): number => processorTime(() => void ranked('a', texts))
    const folded = (): number => processorTime(() => texts.forEach(fold))
    const times = Array.from({ length: 3 }, () => [score(), folded()] as const)
    const [scoring, folding] = [0, 1].map((which) => Math.min(...times.map((pair) => pair[which] ?? 0)))
    expect(scoring).toBeLessThan(6 * (folding ?? 0))
  })
})
