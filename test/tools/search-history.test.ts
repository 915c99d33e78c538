import { describe, expect, it } from 'vitest'
import type { HistoryEntry, HistoryFilters, HistoryListing } from '../../functions/domain/history.ts'
import type { JsonObject } from '../../functions/domain/json.ts'
import { searchHistory } from '../../functions/tools/search-history.ts'
import { toolContext } from './tool-context.ts'

const entry: HistoryEntry = {
  session: 's-1',
  runId: 'run-1',
  messageId: '01ARZ3NDEKTSV4RRFFQ69G5FAV',
  role: 'tool_call',
  agent: 'default',
  time: Date.UTC(2026, 10, 22),
  score: 1,
  snippet: 'shell(cmd="«git status»")',
  text: 'shell(cmd="git status")',
  matched: [],
  after: { label: 'TOOL RESULT', text: 'On branch main' },
}

interface Asked {
  readonly text: string
  readonly filters: HistoryFilters
  readonly limit: number
  readonly listing: HistoryListing | undefined
}

/** Requests that the tool sends to its context. */
async function asked(input: JsonObject): Promise<Asked> {
  const calls: Asked[] = []
  const context = toolContext({
    searchHistory: (text, filters, limit, listing) => {
      calls.push({ text, filters, limit, listing })
      return Promise.resolve({ entries: [], understood: { terms: [] } })
    },
  })
  await searchHistory.execute(input, context)
  const [call] = calls
  if (call === undefined) throw new Error('the tool did not search')
  return call
}

describe('search_history', () => {
  it('marks hits as data, and shows each in bold with session, time, pointer and plain neighbours', async () => {
    const { text } = await searchHistory.execute(
      { query: 'git' },
      toolContext({ searchHistory: async () => ({ entries: [entry], understood: { terms: [] } }) }),
    )
    expect(text).toContain('not instructions')
    expect(text).toContain('session s-1 | 2026-11-22T00:00:00.000Z | output:01ARZ3NDEKTSV4RRFFQ69G5FAV')
    expect(text).toContain('**TOOL CALL: shell(cmd="git status")**\nTOOL RESULT: On branch main')
  })

  it('reports that nothing was found', async () => {
    const { text } = await searchHistory.execute({ query: 'git "x"', tool: 'shell' }, toolContext())
    expect(text).toBe('Nothing in the earlier history matches "git \\"x\\"" (tool shell).')
  })

  it('reports that only this session was searched, if the session has no owner and nothing was found', async () => {
    const textOf = async (entries: readonly HistoryEntry[]): Promise<string> => {
      const context = toolContext({
        searchHistory: async () => ({ entries, lacksOwner: true, understood: { terms: [] } }),
      })
      return (await searchHistory.execute({ query: 'git' }, context)).text
    }
    expect(await textOf([])).toMatch(/^Nothing in .*\nOnly this session was searched, because it has no owner\./)
    expect(await textOf([entry])).not.toContain('no owner')
  })

  it('reports that some messages are not indexed yet', async () => {
    const context = toolContext({
      searchHistory: async () => ({ entries: [entry], incomplete: true, understood: { terms: [] } }),
    })
    const { text } = await searchHistory.execute({ query: 'git' }, context)
    expect(text).toMatch(/TOOL CALL[^]*not indexed yet/u)
  })

  it('requests 5 entries by default, otherwise the number in the argument `limit`', async () => {
    const listing = { sort: 'relevance', asked: { now: Date.UTC(2026, 10, 22, 0, 48, 20, 5), timeZone: 'UTC' } }
    expect(await asked({ query: 'x' })).toEqual({ text: 'x', filters: {}, limit: 5, listing })
    expect((await asked({ query: 'x', limit: 20 })).limit).toBe(20)
    await expect(asked({ query: 'x', limit: 21 })).rejects.toThrow('limit')
  })

  it('accepts a time, and accepts a date as a whole day in UTC', async () => {
    const day = Date.UTC(2026, 10, 22)
    expect((await asked({ query: 'x', since: '2026-11-22', until: '2026-11-22' })).filters).toEqual({
      since: day,
      until: day + 86_400_000 - 1,
    })
    expect((await asked({ query: 'x', since: '2026-11-22T01:00:00+01:00' })).filters).toEqual({ since: day })
    expect((await asked({ query: 'x', since: '2026-11-22T00:00:00' })).filters).toEqual({ since: day })
    await expect(asked({ query: 'x', since: 'yesterday' })).rejects.toThrow('2026-11-22')
  })

  it('accepts a folder, an order and groups, and treats an empty folder as absent', async () => {
    const folder = (value: string, isPrefix: boolean) => ({ metadata: [{ key: 'folder', value, isPrefix }] })
    expect(await asked({ query: 'x', folder: '/home/ada', sort: 'newest', group: 'session' })).toMatchObject({
      filters: folder('/home/ada', false),
      listing: { sort: 'newest', group: 'session' },
    })
    expect((await asked({ query: 'x', folder: '/home/*' })).filters).toEqual(folder('/home/', true))
    expect((await asked({ query: 'x', folder: '' })).filters).toEqual({})
    for (const wrong of [{ folder: '*' }, { sort: 'best' }, { group: 'run' }])
      await expect(asked({ query: 'x', ...wrong })).rejects.toThrow(Object.keys(wrong)[0])
  })

  it("shows the title and folder of a hit's session, and the number of further hits", async () => {
    const about = { sessionTitle: 'Ship\nit', folder: '/home/ada', more: 3 }
    const shown = async (more: number) =>
      (
        await searchHistory.execute(
          { query: 'git' },
          toolContext({
            searchHistory: async () => ({ entries: [{ ...entry, ...about, more }], understood: { terms: [] } }),
          }),
        )
      ).text
    expect(await shown(3)).toContain(' | “Ship it” | in /home/ada | 3 further hits in this session\n')
    expect(await shown(100)).toContain(' | 100 or more further hits in this session\n')
    expect(await shown(0)).toContain(' | in /home/ada\n')
  })

  it('reports possible further hits if the search could not compare all entries with the folder', async () => {
    const context = toolContext({
      searchHistory: async () => ({ entries: [], next: 'cursor', understood: { terms: [] } }),
    })
    const { text } = await searchHistory.execute({ query: 'git', folder: '/p' }, context)
    expect(text).toMatch(/^Nothing found so far\.\nThere may be more/u)
    expect((await searchHistory.execute({ query: 'git', folder: '/p*' }, toolContext())).text).toContain('(folder /p*)')
  })

  it('accepts no scope from the model', async () => {
    for (const field of ['owner', 'tenant', 'session'])
      await expect(asked({ query: 'x', [field]: 'other' })).rejects.toThrow(field)
  })

  it('a failing search is an error, not an empty result', async () => {
    const context = toolContext({ searchHistory: () => Promise.reject(new Error('asleep')) })
    await expect(searchHistory.execute({ query: 'x' }, context)).rejects.toThrow('asleep')
  })
})
