import { useMemo, useState } from 'preact/hooks'
import { withBidiShown } from '../text/bidi.ts'
import { Copy } from '../shell/copy.tsx'
import { Marked } from '../text/marked-words.tsx'
import { parseValue } from './parse-value.ts'
import { Tree } from './tree.tsx'

/** Shows a tool's text: JSON as a tree, anything else as text. */
export function Value({ name, text }: { readonly name: string; readonly text: string }) {
  const [raw, setRaw] = useState(false)
  const json = useMemo(() => parseValue(text), [text])
  return (
    <section class="value" data-name={name}>
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
        <pre tabIndex={0}>
          <Marked text={withBidiShown(text)} />
        </pre>
      ) : (
        <div class="tree" tabIndex={0} role="group" aria-label={name}>
          <Tree value={json} open />
        </div>
      )}
    </section>
  )
}
