import type { Client } from '../../client/client.ts'
import type { Queries, SearchHit } from '../../client/api-types.ts'
import { localTime, note, oneLine, onOutput, print, printJson } from '../terminal.ts'
import { harmless } from '../../runtime/terminal-output.ts'

export type SearchOptions = Omit<Queries['searchHistory'], 'q' | 'after'> & { readonly json?: boolean }

const NEIGHBOUR_WIDTH = 160
const MARKS = /«([^»]*)»/gu

/** Shows the best hits of one page, each with what came before and after it; with `json` the page as the API gives it. */
export async function search(client: Client, text: string, { json = false, ...query }: SearchOptions): Promise<void> {
  const page = await client.search({ q: text, ...query })
  if (json) return printJson(page)
  if (page.data.length === 0) note('Nothing in the history matches.\n')
  for (const hit of page.data) print(`${shown(hit)}\n`)
  if (page.incomplete === true) note('Some of what was written last is not indexed yet: search again for it.\n')
  if (page.has_more) note(`There is more: --limit ${(query.limit ?? page.data.length) * 2}\n`)
}

function shown(hit: SearchHit): string {
  const where = `${localTime(hit.created_at)} · session ${harmless(hit.session_id)} · ${hit.message_id}`
  const name = `${hit.label}${hit.tool_name === undefined || hit.label === 'TOOL CALL' ? '' : ` ${harmless(hit.tool_name)}`}`
  const snippet = oneLine(hit.snippet, 400).replaceAll(MARKS, (mark, word: string) => marked(mark, word))
  const lines = [
    onOutput('dim', where),
    neighbour(hit.before),
    `${onOutput('bold', name)}: ${snippet}`,
    neighbour(hit.after),
  ]
  return lines.flatMap((line) => (line === undefined ? [] : [`${line}\n`])).join('')
}

const neighbour = (of: SearchHit['before']): string | undefined =>
  of === null ? undefined : onOutput('dim', `  ${of.label}: ${oneLine(of.text, NEIGHBOUR_WIDTH)}`)

/** The word in colour; where there are no colours the mark as it is. */
function marked(mark: string, word: string): string {
  const coloured = onOutput(['bold', 'yellow'], word)
  return coloured === word ? mark : coloured
}
