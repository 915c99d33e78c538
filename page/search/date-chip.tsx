import type { SearchPage } from '../../functions/client/api-types.ts'

type Understood = SearchPage['understood']

const DAY = { day: 'numeric', month: 'short', year: 'numeric' } as const

/**
 * Shows the time that the query names as a chip. If the reader removes the chip, the page searches for the words of the
 * date instead.
 */
export function DateChip({ understood, remove }: { readonly understood: Understood; readonly remove: () => void }) {
  const text = periodText(understood)
  if (text === undefined) return null
  return (
    <button type="button" class="chip date-chip" aria-label={`Do not prefer ${text}`} title={HINT} onClick={remove}>
      {text} <span aria-hidden="true">×</span>
    </button>
  )
}

const HINT = 'The query names this time, so that its entries rank higher. Remove it to search for the words instead.'

/** Returns a period as text, in days of the reader's zone; undefined without a period. */
function periodText({ since, until }: Understood): string | undefined {
  const [from, to] = [since, until].map((time) => (time === undefined ? undefined : dayText(time)))
  if (from === undefined) return to === undefined ? undefined : `until ${to}`
  if (to === undefined) return `since ${from}`
  return from === to ? from : `${from} – ${to}`
}

const dayText = (time: string): string => new Date(time).toLocaleDateString(undefined, DAY)
