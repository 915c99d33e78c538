import type { Client } from '../../client/client.ts'
import type { Queries, SearchHit, SearchPage } from '../../client/api-types.ts'
import { readableText } from '../../search/documents/readable-text.ts'
import { metadataQuery, type PlaceOptions } from '../input.ts'
import { readPages } from '../pages.ts'
import { localTime, note, oneLine, onOutput, print, printJson } from '../terminal.ts'
import { harmless } from '../../runtime/terminal-output.ts'

export interface SearchOptions extends PlaceOptions, Omit<Queries['searchHistory'], 'q' | 'after' | 'limit'> {
  readonly limit: number
  /** Message id of the last hit on the previous page. */
  readonly after?: string
  readonly json?: boolean
}

const PAGE = 50
const NEIGHBOUR_WIDTH = 160
const TITLE_WIDTH = 60
const MARKS = /«([^»]*)»/gu

/** Shows hits with the messages around them, page by page. With `json`, prints each hit as the API returns it. */
export async function search(
  client: Client,
  text: string,
  { json = false, limit, after, folder, source, branch, ...query }: SearchOptions,
  signal: AbortSignal,
): Promise<void> {
  let [shown, last, isIncomplete] = [0, '', false]
  let understood: SearchPage['understood'] | undefined
  // All pages interpret the query's dates relative to the same time.
  const now = new Date().toISOString()
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  const read = async (place: { readonly limit: number; readonly after?: string }) => {
    const asked = {
      q: text,
      now,
      time_zone: timeZone,
      ...query,
      ...metadataQuery({ folder, source, branch }),
      ...place,
    }
    const page = await client.search(asked, { signal })
    isIncomplete ||= page.incomplete === true
    if (!json && shown === 0 && understood === undefined) noteUnderstood((understood = page.understood))
    return page
  }
  const idOf = (hit: SearchHit): string => hit.message_id
  const hasMore = await readPages({ limit, after, idOf, pageSize: PAGE, signal, read }, (hit) => {
    shown++
    last = hit.message_id
    if (json) printJson(hit)
    else print(`${hitText(hit)}\n`)
  })
  if (shown === 0) note('Nothing in the history matches.\n')
  if (isIncomplete) note('Some of what was written last is not indexed yet: search again for it.\n')
  if (hasMore) note(`There is more: --after ${last}\n`)
}

/** Prints the time that the query names, so that a person sees why entries of this time rank higher. */
function noteUnderstood({ since, until }: SearchPage['understood']): void {
  const ends = [
    ...(since === undefined ? [] : [`from ${localTime(since)}`]),
    ...(until === undefined ? [] : [`until ${localTime(until)}`]),
  ]
  if (ends.length > 0)
    note(`Entries ${ends.join(' ')} rank higher, because the query names this time (--dates words).\n`)
}

/** One hit as text: titles first, and the ids for the next command last. */
function hitText(hit: SearchHit): string {
  const where = [
    localTime(hit.created_at),
    ...(hit.session_title === null ? [] : [oneLine(hit.session_title, TITLE_WIDTH)]),
    ...(hit.folder === undefined ? [] : [oneLine(hit.folder, NEIGHBOUR_WIDTH)]),
    ...(hit.more === undefined || hit.more === 0 ? [] : [`${hit.more}${hit.more === 100 ? '+' : ''} more here`]),
    `session ${harmless(hit.session_id)}`,
    hit.message_id,
  ].join(' · ')
  const name = `${hit.label}${hit.tool_name === undefined || hit.label === 'TOOL CALL' ? '' : ` ${harmless(hit.tool_name)}`}`
  const snippet = oneLine(readableText(hit.role, hit.snippet), 400)
  const lines = [
    onOutput('dim', where),
    neighbour(hit.before),
    `${onOutput('bold', name)}: ${snippet.replaceAll(MARKS, (mark, word: string) => marked(mark, word))}`,
    neighbour(hit.after),
  ]
  return lines.flatMap((line) => (line === undefined ? [] : [`${line}\n`])).join('')
}

const ROLES = { USER: 'user', ASSISTANT: 'assistant', 'TOOL CALL': 'tool_call', 'TOOL RESULT': 'tool_result' } as const

const neighbour = (of: SearchHit['before']): string | undefined =>
  of === null
    ? undefined
    : onOutput('dim', `  ${of.label}: ${oneLine(readableText(ROLES[of.label], of.text), NEIGHBOUR_WIDTH)}`)

/** Returns the word in colour. If the output has no colours, returns `mark`, the word between `«` and `»`. */
function marked(mark: string, word: string): string {
  const coloured = onOutput(['bold', 'yellow'], word)
  return coloured === word ? mark : coloured
}
