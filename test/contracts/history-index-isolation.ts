import { beforeAll, describe, expect, test } from 'vitest'
import { definedFields } from '../../functions/domain/defined-fields.ts'
import type { HistoryPage, HistoryScope } from '../../functions/domain/history.ts'
import { document } from './history-index-harness.ts'
import type { HistoryIndexHarness } from './history-index-harness.ts'

const TEXTS = [
  'the zebrafish tank was cleaned on monday',
  'invoice INV-2041 for the aquarium pump',
  'getTankVolume returned 4.0 litres',
  'the pump of the aquarium hums, replace the gasket',
  'ordered a gasket from src/parts/gasket.py',
  'water hardness is 12, the zebrafish like it',
  'monday is feeding day, tuesday is not',
  'x => y and 🐠',
]
const QUERIES = [
  'zebrafish',
  'zebrafsh',
  'zebr',
  'brafi',
  'gaskets',
  'pump aquarium monday',
  'what did I say about the gasket?',
  'tank volume',
  'inv-2041',
  'quarium gaskt',
  'monday hums zebrafish nowhere',
  '=>',
  '',
]

/**
 * Returns texts of other owners that would change a result if they counted. They have many repetitions of the query's
 * words, words with typos, and words that share parts with these.
 */
function texts(round: number): string[] {
  const pieces = ['zebr', 'brafi', 'gask', 'quarium', 'monday', 'tank', 'pump', 'volum']
  const letters = 'abcdefghijklmnopqrstuvwxyz'
  const letter = (place: number): string => letters.charAt(place % letters.length)
  return pieces.flatMap((piece, place) => [
    `${piece}${letter(round)} ${piece}s ${letter(round)}${piece} ${letter(round)}${piece}${letter(round + place)}`,
    `zebrafish zebrafsh gasket gaskt pump aquarium monday hums ${piece}`,
  ])
}

/** Contract: the bytes of a result do not depend on documents that the caller may not see. */
export function historyIndexIsolationContract(harness: () => HistoryIndexHarness): void {
  describe('the bytes of a result do not change', () => {
    const tenant = 'quiet'
    const mine = TEXTS.map((text, place) =>
      document(text, { tenant, owner: 'ann', session: place % 2 === 0 ? 'tank' : 'parts' }),
    )
    const scopes: readonly (readonly [string, HistoryScope])[] = [
      ['a tenant', { tenant }],
      ['an owner', { tenant, owner: 'ann' }],
      ['a session', { tenant, session: 'parts' }],
      ['a session of an owner', { tenant, owner: 'ann', session: 'tank' }],
    ]
    const before = new Map<string, string>()

    const bytesOf = async (scope: HistoryScope): Promise<string> => {
      const pages: HistoryPage[] = []
      for (const text of QUERIES) {
        let after: string | undefined
        do {
          const query = { scope, text, filters: {}, limit: 2, ...definedFields({ after }) }
          const page = await harness().index.search(query)
          pages.push(page)
          after = page.next
        } while (after !== undefined && pages.length < 500)
      }
      return JSON.stringify(pages)
    }

    beforeAll(async () => {
      await harness().store(mine)
      for (const [name, scope] of scopes) before.set(name, await bytesOf(scope))
    })

    test('when other tenants store texts', async () => {
      for (let round = 0; round < 4; round++)
        await harness().store(texts(round).map((text) => document(text, { tenant: `loud-${round % 2}`, owner: 'ann' })))
      for (const [name, scope] of scopes) expect(await bytesOf(scope), name).toBe(before.get(name))
    })

    test('in the scope of an owner or a session, when another owner stores texts', async () => {
      for (let round = 4; round < 8; round++)
        await harness().store(texts(round).map((text) => document(text, { tenant, owner: 'bob', session: 'loud' })))
      for (const [name, scope] of scopes.slice(1)) expect(await bytesOf(scope), name).toBe(before.get(name))
    })

    test('although the owner of the new texts finds these texts', async () => {
      const found = await harness().index.search({
        scope: { tenant, owner: 'bob' },
        text: 'zebrafsh',
        filters: {},
        limit: 5,
      })
      expect(found.hits).toHaveLength(5)
      expect(before.get('a tenant')).toContain('zebrafish')
    })
  })
}
