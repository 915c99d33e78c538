import { useContext, useState } from 'preact/hooks'
import type { Json } from '../../functions/client/api-types.ts'
import { withBidiShown } from '../text/bidi.ts'
import { Marked, MarkedWords } from '../text/marked-words.tsx'
import { hasMark } from '../text/word-pattern.ts'
import { isRawNumber } from './parse-value.ts'

/** Number of entries that are shown at first, and number of entries that each further request adds. */
const STEP = 100
const PREVIEW_CHARACTERS = 60
/** Maximum depth at which small objects and lists are open at first. */
const OPEN_DEPTH = 4

interface Props {
  readonly value: Json
  readonly name?: string
  readonly open?: boolean
  /** Depth of nesting. */
  readonly depth?: number
}

/**
 * Shows a JSON value whose objects and lists can be expanded. The content of collapsed objects and lists is not
 * rendered.
 */
export function Tree({ value, name, open = false, depth = 0 }: Props) {
  const pattern = useContext(MarkedWords)
  const [isOpen, setOpen] = useState(open)
  const [shown, setShown] = useState(STEP)
  if (typeof value !== 'object' || value === null || isRawNumber(value))
    return (
      <div class="leaf">
        <Name name={name} />
        <span class={`value-${isRawNumber(value) ? 'number' : value === null ? 'null' : typeof value}`}>
          <Marked text={withBidiShown(JSON.stringify(value))} />
        </span>
      </div>
    )
  const entries = Object.entries(value)
  /** An entry with a marked word is always shown. */
  const marked = (entry: unknown): boolean => pattern !== undefined && hasMark(JSON.stringify(entry), pattern)
  const last = Math.max(shown, pattern === undefined ? 0 : entries.findIndex(marked) + 1)
  const [begin, end] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  if (entries.length === 0)
    return (
      <div class="leaf">
        <Name name={name} />
        {begin}
        {end}
      </div>
    )
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Name name={name} />
        <span class="quiet">{isOpen ? `${begin} ${entries.length}` : preview(value)}</span>
      </summary>
      {isOpen ? (
        <div class="branches">
          {entries.slice(0, last).map(([key, entry]) => (
            <Tree
              key={key}
              name={key}
              value={entry as Json}
              open={(entries.length <= 3 && depth < OPEN_DEPTH) || marked(entry)}
              depth={depth + 1}
            />
          ))}
          {entries.length > last ? (
            <button type="button" class="link" onClick={() => setShown(last + STEP)}>
              {entries.length - last} more
            </button>
          ) : null}
        </div>
      ) : null}
    </details>
  )
}

const Name = ({ name }: { readonly name: string | undefined }) =>
  name === undefined ? null : (
    <span class="name">
      <Marked text={withBidiShown(name)} />:{' '}
    </span>
  )

function preview(value: object): string {
  const text = withBidiShown(JSON.stringify(value))
  return text.length > PREVIEW_CHARACTERS ? `${text.slice(0, PREVIEW_CHARACTERS)}…` : text
}
