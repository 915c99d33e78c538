import type { Clock } from '../../ports/clock.ts'
import { TooltrailError } from '../../domain/errors.ts'
import { INDEX_VERSION, MAPPING } from './indexed-document.ts'
import { ask, type Send } from './requests.ts'

/**
 * The indexes of a history. Searches read the index behind `<alias>`. Writes go to each index behind `<alias>-write`.
 * During a rebuild, these include the new index. OpenSearch stores the aliases, so every process sees a change. Writes
 * name each index by its own alias (`ownAlias`).
 */
export interface HistoryAliases {
  /** Creates the first index if there is none. */
  ensure(): Promise<void>
  /**
   * Returns the own alias (`ownAlias`) of each index that every write goes to. The result is cached for up to
   * `KNOWN_MS`.
   */
  written(): Promise<readonly string[]>
  /** Drops the cache. Call it after a write has failed, because an index may be missing. */
  forget(): void
  searched(): Promise<readonly string[]>
  /** Returns every existing index that was created for the alias. */
  all(): Promise<readonly string[]>
  /**
   * Creates an empty index. From now on, writes go to this index, and no longer to the indexes in `instead`. Other
   * processes switch to this index within `KNOWN_MS`.
   */
  build(instead: readonly string[]): Promise<string>
  /** Atomically switches searches and writes to this index. */
  swap(name: string): Promise<void>
  drop(name: string): Promise<void>
}

/**
 * Returns the prefix of the index names that this version creates for an alias. An index whose name has another prefix
 * needs a rebuild.
 */
export const currentPrefix = (alias: string): string => `${alias}-v${INDEX_VERSION}-`

/** Returns the alias that only this index has. Writes require the alias, so that a write to a dropped index fails. */
export const ownAlias = (index: string): string => `${index}-own`

/**
 * Maximum time for which a process writes to its cached indexes. If the clock is set back to a time before the read,
 * the cache expires at once. If the clock is set back by less, the cache may last almost twice as long. A rebuild
 * therefore waits for twice this time.
 */
export const KNOWN_MS = 5_000

interface Dependencies {
  readonly send: Send
  readonly alias: string
  /**
   * Number of replicas of the index. If absent, the engine decides: a serverless collection accepts no such setting.
   */
  readonly copies?: number | undefined
  readonly clock: Clock
}

/** Manages the aliases of one history index. */
export function createHistoryAliases({ send, alias, copies, clock }: Dependencies): HistoryAliases {
  const writeAlias = `${alias}-write`
  let known: { readonly names: readonly string[]; readonly at: number } | undefined

  const behind = (name: string): Promise<readonly string[]> => indexesBehind(send, name)
  const change = (actions: readonly object[]): Promise<unknown> =>
    ask(send, { method: 'POST', path: '/_aliases', body: { actions } })
  const ensure = async (): Promise<void> => {
    if ((await behind(alias)).length > 0) return
    const index = `${currentPrefix(alias)}first`
    await createIndex(send, index, copies)
    await change([{ add: { index, alias } }, { add: { index, alias: writeAlias } }])
  }

  return {
    ensure,
    async written() {
      const at = clock.now()
      if (known !== undefined && known.at <= at && at < known.at + KNOWN_MS) return known.names
      let names = await writable(send, alias)
      if (names.length === 0) {
        await ensure()
        names = await writable(send, alias)
      }
      if (names.length === 0) throw unavailable(`the alias ${writeAlias} has no index`)
      known = { names, at }
      return names
    },
    forget: () => void (known = undefined),
    searched: () => behind(alias),
    async all() {
      const path = `/_resolve/index/${alias}-v*`
      const { indices } = await ask<{ indices: readonly { readonly name: string }[] }>(send, { method: 'GET', path })
      return indices.map(({ name }) => name)
    },
    async build(instead) {
      const index = `${currentPrefix(alias)}${clock.now()}`
      await createIndex(send, index, copies)
      const written = await behind(writeAlias)
      const left = instead.filter((name) => written.includes(name))
      await change([{ add: { index, alias: writeAlias } }, ...removals(left, writeAlias)])
      return index
    },
    async swap(name) {
      const [searched, written] = await Promise.all([behind(alias), behind(writeAlias)])
      // Another rebuild may have deleted this index as a leftover.
      if (!written.includes(name)) throw unavailable(`the index ${name} is no longer being built`)
      const [oldSearched, oldWritten] = [searched, written].map((names) => names.filter((index) => index !== name))
      await change([
        { add: { index: name, alias } },
        ...removals(oldSearched, alias),
        ...removals(oldWritten, writeAlias),
      ])
    },
    async drop(name) {
      await ask(send, { method: 'DELETE', path: `/${name}` }, [404])
    },
  }
}

async function indexesBehind(send: Send, alias: string): Promise<readonly string[]> {
  const response = await send({ method: 'GET', path: `/_alias/${alias}` })
  if (response.status === 404) return []
  if (response.status >= 300) throw unavailable(`the alias ${alias} cannot be read: ${JSON.stringify(response.body)}`)
  return Object.keys(response.body as object).toSorted()
}

/**
 * Returns the own alias of each index behind the write alias. Adds missing own aliases to indexes that an earlier
 * version created.
 */
async function writable(send: Send, alias: string): Promise<readonly string[]> {
  const response = await send({ method: 'GET', path: `/_alias/${alias}-*` })
  if (response.status === 404) return []
  if (response.status >= 300)
    throw unavailable(`the aliases of ${alias} cannot be read: ${JSON.stringify(response.body)}`)
  const found = Object.entries(response.body as { readonly [index: string]: { readonly aliases: object } })
  const written = found.filter(([, { aliases }]) => Object.hasOwn(aliases, `${alias}-write`))
  for (const [index, { aliases }] of written) if (!Object.hasOwn(aliases, ownAlias(index))) await giveAlias(send, index)
  return written.map(([index]) => ownAlias(index)).toSorted()
}

async function giveAlias(send: Send, index: string): Promise<void> {
  const actions = [{ add: { index, alias: ownAlias(index) } }]
  const { status, body } = await send({ method: 'POST', path: '/_aliases', body: { actions } })
  if (status >= 300) throw unavailable(`the index ${index} gets no alias: ${JSON.stringify(body)}`)
}

const unavailable = (message: string): TooltrailError =>
  new TooltrailError('search_unavailable', message, { retryable: true })
const removals = (indexes: readonly string[] = [], alias: string): object[] =>
  indexes.map((index) => ({ remove: { index, alias } }))

/** Durations from which an OpenSearch domain logs slow operations, without their content. */
const SLOW = {
  'search.slowlog.threshold.query.warn': '2s',
  'search.slowlog.threshold.fetch.warn': '1s',
  'indexing.slowlog.threshold.index.warn': '2s',
  'indexing.slowlog.source': 'false',
}

async function createIndex(send: Send, index: string, copies: number | undefined): Promise<void> {
  const settings = copies === undefined ? {} : { settings: { index: { number_of_replicas: copies, ...SLOW } } }
  const response = await send({ method: 'PUT', path: `/${index}`, body: { mappings: MAPPING, ...settings } })
  const exists = response.status === 400 && JSON.stringify(response.body).includes('resource_already_exists_exception')
  if (response.status >= 300 && !exists)
    throw unavailable(`the index ${index} cannot be made: ${JSON.stringify(response.body)}`)
  await giveAlias(send, index)
  await probeVersions(send, index)
}

/**
 * Checks that the engine rejects older versions of a document, because this adapter relies on it. An index that fails
 * this check is not used, because its content would slowly become wrong. The test document belongs to no tenant.
 */
async function probeVersions(send: Send, index: string): Promise<void> {
  const _id = `probe-${crypto.randomUUID()}`
  const at = (version: number): object => ({
    ...{ _index: ownAlias(index), require_alias: true },
    ...{ _id, version, version_type: 'external' },
  })
  const lines = [{ index: at(2) }, { print: 'probe' }, { index: at(1) }, { print: 'probe' }, { delete: at(3) }]
  const response = await ask<{ items: readonly { readonly [action: string]: { readonly status: number } }[] }>(send, {
    method: 'POST',
    path: '/_bulk',
    lines: lines.map((line) => JSON.stringify(line)),
  })
  const statuses = response.items.map((item) => Object.values(item)[0]?.status ?? 0)
  if (statuses.join() !== '201,409,200')
    throw unavailable(
      `OpenSearch does not keep external versions in ${index}: it returned ${statuses.join()} instead of 201,409,200`,
    )
}
