import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { DatabaseSync } from 'node:sqlite'
import type { HistoryDocument } from '../../functions/domain/history.ts'
import type { Engine } from './engines.ts'
import { messageName, type Question } from './question-sets.ts'

/** A message as the baselines index it: the call and all texts. */
interface Text {
  readonly id: number
  readonly name: string
  readonly tenant: string
  readonly text: string
}

/**
 * Returns functions that open the baselines: FTS5, and the libraries that `npm ci` in this folder installs. Every
 * baseline uses its default settings, and stemming if it supports stemming.
 */
export async function openBaselines(documents: readonly HistoryDocument[]): Promise<(() => Promise<Engine>)[]> {
  const texts = textsOf(documents)
  return [
    async () => openFts5(texts, 'unicode61'),
    async () => openFts5(texts, 'porter'),
    () => openMiniSearch(texts),
    () => openOrama(texts),
    () => openBm25(texts),
  ]
}

function textsOf(documents: readonly HistoryDocument[]): Text[] {
  const messages = Map.groupBy(documents, ({ tenant, session, messageId }) => `${tenant} ${session} ${messageId}`)
  return Array.from(messages.values(), (parts, id) => {
    const { tenant = '', session = '', messageId = '' } = parts[0] ?? {}
    return { id: id + 1, name: messageName(session, messageId), tenant, text: parts.map(({ text }) => text).join('\n') }
  })
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

function openFts5(texts: readonly Text[], tokenizer: string): Engine {
  const database = new DatabaseSync(':memory:')
  database.exec(
    `CREATE VIRTUAL TABLE texts USING fts5 (text, tenant UNINDEXED, name UNINDEXED, tokenize = '${tokenizer}')`,
  )
  const insert = database.prepare('INSERT INTO texts (rowid, text, tenant, name) VALUES (?, ?, ?, ?)')
  database.exec('BEGIN')
  for (const { id, text, tenant, name } of texts) insert.run(id, text, tenant, name)
  database.exec('COMMIT')
  const select = database.prepare('SELECT name FROM texts WHERE texts MATCH ? AND tenant = ? ORDER BY rank LIMIT ?')
  return {
    name: `FTS5, ${tokenizer}`,
    async ask({ text, tenant }, limit) {
      const words = wordsOf(text).map((word) => `"${word}"`)
      return words.length === 0 ? [] : select.all(words.join(' OR '), tenant, limit).map((row) => String(row['name']))
    },
    close: async () => database.close(),
  }
}

/** Loads a library of this folder's own `package.json`. */
async function load<Library>(name: string): Promise<Library> {
  try {
    const path = createRequire(import.meta.url).resolve(name)
    return (await import(pathToFileURL(path).href)) as Library
  } catch (error) {
    throw new Error(`the baseline ${name} is missing: run npm install in bench/search-quality`, { cause: error })
  }
}

interface MiniSearchLibrary {
  readonly default: new (options: object) => {
    addAll(documents: readonly object[]): void
    search(text: string, options: object): readonly { readonly id: number }[]
  }
}

async function openMiniSearch(texts: readonly Text[]): Promise<Engine> {
  const { default: MiniSearch } = await load<MiniSearchLibrary>('minisearch')
  const index = new MiniSearch({ fields: ['text'], storeFields: ['tenant'] })
  index.addAll(texts)
  return {
    name: 'MiniSearch',
    async ask({ text, tenant }, limit) {
      const filter = (hit: { readonly tenant: string }): boolean => hit.tenant === tenant
      return namesOf(texts, index.search(text, { filter }).slice(0, limit))
    },
    close: async () => undefined,
  }
}

interface OramaLibrary {
  create(options: object): object
  insertMultiple(index: object, documents: readonly object[]): Promise<unknown>
  search(index: object, query: object): Promise<{ readonly hits: readonly { readonly id: string }[] }>
}

async function openOrama(texts: readonly Text[]): Promise<Engine> {
  const orama = await load<OramaLibrary>('@orama/orama')
  const schema = { text: 'string', tenant: 'enum' }
  const index = orama.create({ schema, components: { tokenizer: { stemming: true, language: 'english' } } })
  await orama.insertMultiple(
    index,
    texts.map(({ id, text, tenant }) => ({ id: String(id), text, tenant })),
  )
  return {
    name: 'Orama',
    async ask({ text, tenant }, limit) {
      const query = { term: text, properties: ['text'], threshold: 1, limit, where: { tenant: { eq: tenant } } }
      const { hits } = await orama.search(index, query)
      return namesOf(
        texts,
        hits.map(({ id }) => ({ id: Number(id) })),
      )
    },
    close: async () => undefined,
  }
}

interface Bm25Library {
  readonly default: Bm25 | { readonly default: Bm25 }
}
type Bm25 = (documents: string[], words: string[], constants: object) => number[]

/** Opens BM25. It has no index, so it scores every text of the tenant for each question. */
async function openBm25(texts: readonly Text[]): Promise<Engine> {
  const library = (await load<Bm25Library>('okapibm25')).default
  const score = typeof library === 'function' ? library : library.default
  const byTenant = Map.groupBy(texts, ({ tenant }) => tenant)
  const prepared = new Map(
    Array.from(byTenant, ([tenant, all]) => [tenant, all.map(({ text }) => wordsOf(text).join(' '))]),
  )
  return {
    name: 'BM25',
    async ask({ text, tenant }: Question, limit) {
      const scores = score([...(prepared.get(tenant) ?? [])], wordsOf(text), { b: 0.75, k1: 1.2 })
      const all = byTenant.get(tenant) ?? []
      const ranked = all.map(({ name }, place) => ({ name, score: scores[place] ?? 0 })).filter((one) => one.score > 0)
      return ranked
        .toSorted((left, right) => right.score - left.score)
        .slice(0, limit)
        .map(({ name }) => name)
    },
    close: async () => undefined,
  }
}

const namesOf = (texts: readonly Text[], hits: readonly { readonly id: number }[]): string[] =>
  hits.flatMap(({ id }) => texts[id - 1]?.name ?? [])
