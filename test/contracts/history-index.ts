import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { definedFields } from '../../functions/domain/defined-fields.ts'
import type { HistoryDocument, HistoryFilters, HistoryHit, HistoryScope } from '../../functions/domain/history.ts'
import { document, IDS } from './history-index-harness.ts'
import type { HistoryIndexHarness } from './history-index-harness.ts'
import { historyIndexSelfReferencesContract } from './history-index-self-references.ts'
import { historyIndexContextContract } from './history-index-context.ts'
import { historyIndexDatesContract } from './history-index-dates.ts'
import { historyIndexFoldingContract } from './history-index-folding.ts'
import { historyIndexFunctionWordsContract } from './history-index-function-words.ts'
import { historyIndexIsolationContract } from './history-index-isolation.ts'
import { historyIndexListsContract } from './history-index-lists.ts'
import { historyIndexWideningContract } from './history-index-widening.ts'

/** Contract of every index: the same words find the same events, within the same limits. */
export function historyIndexContract(name: string, start: () => Promise<HistoryIndexHarness>): void {
  describe(`history index: ${name}`, () => {
    let harness: HistoryIndexHarness
    beforeAll(async () => {
      harness = await start()
    })
    afterAll(() => harness.stop())

    const search = async (text: string, filters: HistoryFilters = {}, scope: HistoryScope = { tenant: 'acme' }) =>
      (await harness.index.search({ scope, text, filters, limit: 20 })).hits
    const ids = (hits: readonly HistoryHit[]): string[] => hits.map(({ messageId }) => messageId)

    test('an index without documents returns an empty result, not an error', async () => {
      expect(await search('anything')).toEqual([])
      expect(await harness.index.locate({ tenant: 'acme' }, IDS[0] ?? '')).toBeUndefined()
    })

    describe('finding', () => {
      const kept = {
        id: document('refund of order ORD-7f3a9c21 was declined'),
        snake: document('the field payment_method_id is required'),
        camel: document('we call getUserDetails before checkout'),
        path: document('fixed a race in src/app/auth.py yesterday'),
        typo: document('the invoice for the warehouse arrived'),
        cjk: document('今日は東京タワーに登りました'),
        accent: document('café Zürich opening hours'),
        emoji: document('deployed 🚀 to production'),
        inner: document('run id 9c4b2d8e1f07aa55 of the nightly batch'),
        number: document('the price went from 4.0 to 19.99 euros'),
      }
      beforeAll(() => harness.store(Object.values(kept)))

      test.each([
        ['an exact id', 'ORD-7f3a9c21', 'id'],
        ['in any case', 'ord-7F3A9C21', 'id'],
        ['words of snake_case', 'payment method', 'snake'],
        ['words of camelCase', 'user details', 'camel'],
        ['the same name joined otherwise', 'get_user_details', 'camel'],
        ['a file by its name', 'auth.py', 'path'],
        ['a word with a wrong letter', 'warehause', 'typo'],
        ['a word with a letter missing', 'invoce', 'typo'],
        ['a piece of CJK', '東京', 'cjk'],
        ['a single CJK character', '登', 'cjk'],
        ['without accents', 'cafe zurich', 'accent'],
        ['an emoji', '🚀', 'emoji'],
        ['the beginning of an id', '9c4b2d', 'inner'],
        ['the end of an id', '1f07aa55', 'inner'],
        ['the inside of a word', 'ightl', 'inner'],
        ['another form of a word', 'deploying', 'emoji'],
        ['a number as written', '4.0', 'number'],
        ['a question around the words', 'what did I say about the warehouse?', 'typo'],
      ] as const)('finds %s', async (_, text, wanted) => {
        expect(ids(await search(text))[0]).toBe(kept[wanted].messageId)
      })

      test('no character in a query is syntax, and no string is an error', async () => {
        const queries = [
          '"',
          '(a OR',
          'role:user AND *',
          "'; DROP",
          '\\',
          '* ?',
          '{"match_all":{}}',
          'a '.repeat(2_000),
          '\u0000',
        ]
        for (const query of queries) expect(Array.isArray(await search(query)), query).toBe(true)
        expect(await search('refund NOT declined')).not.toEqual([])
      })

      test('an empty query lists everything, newest first', async () => {
        const found = await search('')
        expect(ids(found)).toEqual(
          Object.values(kept)
            .map(({ messageId }) => messageId)
            .toReversed(),
        )
      })

      test('a snippet marks the found words, and has at most 300 characters', async () => {
        const long = document(`${'padding words '.repeat(200)} needle_in_hay ${'more of it '.repeat(200)}`, {
          session: 'long',
        })
        await harness.store([long])
        const [hit] = await search('needle_in_hay')
        expect(hit?.snippet).toContain('«needle_in_hay»')
        expect(Array.from(hit?.snippet ?? '').length).toBeLessThanOrEqual(300)
      })

      test('a snippet shows the matching passage of a long output, even if its call matches too', async () => {
        const result = { messageId: document('').messageId, session: 'dump', role: 'tool_result' } as const
        const call = 'shell(cmd="grep -r zebrafinch")'
        const parts = Array.from({ length: 150 }, (_, n) => `line ${n}${n === 99 ? ' of the zebrafinch' : ''}`)
        await harness.store(parts.map((text, n) => document(text, { ...result, call, part: `r${n}` })))
        const [hit, ...others] = await search('zebrafinch')
        expect(others).toEqual([])
        expect(hit?.snippet).toBe('line 99 of the «zebrafinch»')
      })
    })

    historyIndexFoldingContract(() => harness)
    historyIndexFunctionWordsContract(() => harness)
    historyIndexSelfReferencesContract(() => harness)
    historyIndexContextContract(() => harness)
    historyIndexDatesContract(() => harness)
    historyIndexWideningContract(() => harness)
    historyIndexIsolationContract(() => harness)
    historyIndexListsContract(() => harness)

    describe('bounds', () => {
      const word = 'boundary'
      const mine = document(`${word} mine`, { owner: 'ann', session: 's-a' })
      const other = document(`${word} other`, { owner: 'bob', session: 's-b', agent: 'helper', runId: 'run-2' })
      const foreign = document(`${word} foreign`, { tenant: 'rival', session: 's-a', owner: 'ann' })
      const call = document(`shell(cmd="${word}")`, { role: 'tool_call', session: 's-c', call: `shell(cmd="${word}")` })
      const result = document(`${word} output`, {
        role: 'tool_result',
        session: 's-c',
        messageId: call.messageId,
        call: call.text,
        status: 'error',
        toolName: 'fetch',
      })
      const answer = { role: 'assistant', owner: 'eve', session: 's-d' } as const
      const praised = document(`${word} praised`, { ...answer, feedback: ['positive'] })
      const disputed = document(`${word} disputed`, { ...answer, feedback: ['negative', 'positive'] })
      beforeAll(() => harness.store([mine, other, foreign, call, result, praised, disputed]))

      test('a tenant sees its own documents only', async () => {
        expect(ids(await search(word, {}, { tenant: 'rival' }))).toEqual([foreign.messageId])
        expect(ids(await search(word))).not.toContain(foreign.messageId)
        expect(await search(word, {}, { tenant: 'nobody' })).toEqual([])
      })

      test.each<readonly [string, HistoryScope, readonly HistoryDocument[]]>([
        ['an owner', { tenant: 'acme', owner: 'ann' }, [mine]],
        ['a session', { tenant: 'acme', session: 's-b' }, [other]],
        ['an owner and a session that do not belong together', { tenant: 'acme', owner: 'ann', session: 's-b' }, []],
      ])('a search never leaves the scope of %s', async (_, scope, wanted) => {
        expect(ids(await search(word, {}, scope))).toEqual(wanted.map(({ messageId }) => messageId))
        expect(ids(await search(word, { owner: 'bob' }, { tenant: 'acme', owner: 'ann' }))).toEqual([])
      })

      test.each<readonly [string, HistoryFilters, readonly HistoryDocument[]]>([
        ['role', { role: 'tool_call' }, [call]],
        ['tool', { tool: 'fetch' }, [result]],
        ['status', { status: 'error' }, [result]],
        ['session', { session: 's-a' }, [mine]],
        ['owner', { owner: 'bob' }, [other]],
        ['agent', { agent: 'helper' }, [other]],
        ['since, inclusive', { since: result.time, until: result.time }, [result]],
        ['until, inclusive', { until: mine.time }, [mine]],
        ['a time between', { since: other.time, until: other.time }, [other]],
        ['a rating', { feedback: 'negative' }, [disputed]],
        ['a rating that one of several gave', { feedback: 'positive' }, [praised, disputed]],
        ['no time at all', { since: 2, until: 1 }, []],
      ])('filters by %s', async (_, filters, wanted) => {
        expect(ids(await search(word, filters)).toSorted()).toEqual(wanted.map(({ messageId }) => messageId).toSorted())
      })

      test('a search can exclude a run', async () => {
        expect(ids(await search(word, { notRun: 'run-1' }))).toEqual([other.messageId])
      })

      test('the call and the result of a tool event are one hit', async () => {
        expect(ids(await search(word, { session: 's-c' }))).toEqual([call.messageId])
      })

      test('locate returns the session of a message within the scope', async () => {
        expect(await harness.index.locate({ tenant: 'acme' }, mine.messageId)).toBe('s-a')
        expect(await harness.index.locate({ tenant: 'acme', owner: 'ann' }, other.messageId)).toBeUndefined()
        expect(await harness.index.locate({ tenant: 'acme', session: 's-a' }, other.messageId)).toBeUndefined()
        expect(await harness.index.locate({ tenant: 'acme' }, foreign.messageId)).toBeUndefined()
      })

      test('a superseded entry is reported for its own tenant only', async () => {
        expect(await harness.index.hasSuperseded('replacing')).toBe(false)
        await harness.store([document('current', { tenant: 'replacing' })])
        expect(await harness.index.hasSuperseded('replacing')).toBe(false)
        await harness.store([document('replaced', { tenant: 'replacing', superseded: true })])
        expect(await harness.index.hasSuperseded('replacing')).toBe(true)
        expect(await harness.index.hasSuperseded('acme')).toBe(false)
      })
    })

    describe('pages', () => {
      const many = Array.from({ length: 130 }, (_, number) =>
        document(`pagination entry ${100 + number} of a long list`),
      )
      beforeAll(() => harness.store(many))

      const pages = async (text: string, limit: number, between?: () => Promise<void>): Promise<string[][]> => {
        const found: string[][] = []
        let after: string | undefined
        do {
          const query = {
            scope: { tenant: 'acme' },
            text,
            filters: {},
            limit,
            ...definedFields({ after }),
          }
          const page = await harness.index.search(query)
          found.push(ids(page.hits))
          after = page.next
          await between?.()
        } while (after !== undefined && found.length < 100)
        return found
      }

      test('contain every event once, whatever the page length', async () => {
        const wanted = many.map(({ messageId }) => messageId).toSorted()
        for (const limit of [7, 50]) {
          const found = await pages('pagination', limit)
          expect(found.flat().toSorted()).toEqual(wanted)
          expect(found.slice(0, -1).every((page) => page.length === limit)).toBe(true)
        }
      })

      test('list equally good events newest first', async () => {
        expect(await pages('pagination', 100)).toEqual([
          many
            .map(({ messageId }) => messageId)
            .toReversed()
            .slice(0, 100),
          many
            .map(({ messageId }) => messageId)
            .toReversed()
            .slice(100),
        ])
      })

      test('continue unchanged while documents are written', async () => {
        const later: string[] = []
        const found = await pages('pagination', 40, async () => {
          const added = document('pagination pagination pagination')
          later.push(added.messageId)
          await harness.store([added])
        })
        expect(found.flat().toSorted()).toEqual(many.map(({ messageId }) => messageId).toSorted())
        expect(later).not.toEqual([])
      })

      test('refuse an invalid cursor, and the cursor of another query', async () => {
        const query = { scope: { tenant: 'acme' }, text: 'pagination', filters: {}, limit: 5 }
        const { next = '' } = await harness.index.search(query)
        for (const wrong of [
          { ...query, after: 'x' },
          { ...query, text: 'other', after: next },
        ])
          await expect(harness.index.search(wrong)).rejects.toMatchObject({ code: 'cursor_not_found' })
      })
    })

    test('an unreadable index is an error, never an empty page', async () => {
      await harness.breakDown()
      await expect(search('refund')).rejects.toMatchObject({ code: 'search_unavailable', retryable: true })
      await expect(harness.index.locate({ tenant: 'acme' }, IDS[1] ?? '')).rejects.toMatchObject({
        code: 'search_unavailable',
      })
    })
  })
}
