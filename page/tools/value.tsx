import { useMemo, useState } from 'preact/hooks'
import type { Json } from '../../functions/client/api-types.ts'
import { Copy } from '../shell/copy.tsx'
import { Tree } from './tree.tsx'

/** Longer texts are not parsed: they are shown as they are. */
const MOST_CHARACTERS = 1_000_000

/** A text of a tool: what is JSON as a tree, all else as text, whatever it holds. */
export function Value({ name, text }: { readonly name: string; readonly text: string }) {
  const [raw, setRaw] = useState(false)
  const json = useMemo(() => parsed(text), [text])
  return (
    <section class="value">
      <header class="row">
        <span class="value-name">{name}</span>
        <span class="grow" />
        {json === undefined ? null : (
          <button type="button" class="link" aria-pressed={raw} onClick={() => setRaw(!raw)}>
            Raw
          </button>
        )}
        <Copy text={() => text} />
      </header>
      {json === undefined || raw ? (
        <pre tabIndex={0}>{text}</pre>
      ) : (
        <div class="tree" tabIndex={0} role="group" aria-label={name}>
          <Tree value={json} open />
        </div>
      )}
    </section>
  )
}

/** Objects and lists only: a lone number or string reads better as text. */
function parsed(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text) || text.length > MOST_CHARACTERS) return undefined
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined // It is shown as text.
  }
}
