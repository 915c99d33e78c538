import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Message } from '../../functions/client/api-types.ts'
import { Failure } from '../shell/failure.tsx'
import { client } from '../shell/api.ts'
import { Dialog } from '../shell/dialog.tsx'
import { useStore } from '../shell/store.ts'
import { marked } from '../text/marks.tsx'
import { count, plural, size } from '../text/words.ts'
import { Download } from './download.tsx'
import { linesWith, openOutput } from './output-store.ts'
import type { Output, OutputStore } from './output-store.ts'

/** Height of a line in pixels. It must equal the height in the style sheet. */
const LINE = 20
const MARGIN_LINES = 40

/**
 * Shows the whole output of a call in a dialog, with a search and a download. Scrolling loads more of the output.
 */
export function OutputViewer({ message, close }: { readonly message: Message; readonly close: () => void }) {
  const [store, setStore] = useState<OutputStore>()
  useEffect(() => {
    const opened = openOutput(message)
    setStore(opened)
    void opened.more()
    return () => opened.close()
  }, [message.id])
  return (
    <Dialog title={message.call ?? message.tool_name ?? 'Output'} close={close} wide>
      {store === undefined ? null : <Searched store={store} message={message} />}
    </Dialog>
  )
}

/**
 * Searches an output. While a person types, the first matching line of the loaded part is shown. Enter shows the next
 * matching line, and loads more of the output if necessary.
 */
function Searched({ store, message }: { readonly store: OutputStore; readonly message: Message }) {
  const output = useStore(store)
  const { lines, read, bytes, error } = output
  const [text, setText] = useState('')
  const [found, setFound] = useState<number>()
  /** The text in the field now. It may change during a load, which may take seconds. */
  const wanted = useRef('')
  wanted.current = text
  const all = useMemo(() => linesWith(lines, text), [lines, text])

  const next = async (): Promise<void> => {
    if (text === '') return
    const from = found ?? -1
    // After the last match, the search restarts at the beginning.
    const at = (await store.find(text, from)) ?? (from >= 0 ? await store.find(text, -1) : undefined)
    if (wanted.current === text) setFound(at)
  }
  return (
    <>
      <form
        class="row output-bar"
        onSubmit={(event) => {
          event.preventDefault()
          void next()
        }}
      >
        <input
          type="search"
          aria-label="Search in this output"
          placeholder="Search in this output"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value)
            setFound(linesWith(lines, event.currentTarget.value)[0])
          }}
        />
        <button type="submit" disabled={text === ''}>
          Next
        </button>
        <span class="quiet" role="status">
          {text === '' ? '' : resultOf(output, all, found)}
        </span>
        <span class="grow" />
        <span class="quiet">
          {plural(lines.length, 'line')}
          {read < bytes ? ` of ${size(bytes)}` : `, ${size(bytes)}`}
        </span>
        <Download read={() => client.readOutput(message.session_id, message.id)} name={`${message.id}.txt`} />
      </form>
      {error === undefined ? null : <Failure error={error} />}
      <Lines store={store} text={text} found={found} />
    </>
  )
}

/** Describes which of the matching lines is shown, and how much of the output was searched. */
function resultOf({ read, bytes }: Output, all: readonly number[], found: number | undefined): string {
  const isWhole = read >= bytes
  if (found !== undefined)
    return `Line ${count(found + 1)}: ${count(all.indexOf(found) + 1)} of ${count(all.length)}${isWhole ? '' : ' so far'}`
  return isWhole ? 'Not in this output' : `Not in the first ${size(read)}; Enter reads on`
}

interface LinesProps {
  readonly store: OutputStore
  readonly text: string
  readonly found: number | undefined
}

function Lines({ store, text, found }: LinesProps) {
  const { lines, loading, read, bytes, error } = useStore(store)
  const [top, setTop] = useState(0)
  const scroller = useRef<HTMLDivElement>(null)
  const first = Math.max(0, Math.floor(top / LINE) - MARGIN_LINES)
  const shown = lines.slice(first, first + 3 * MARGIN_LINES)
  useLayoutEffect(() => {
    const element = scroller.current
    if (found !== undefined && element !== null) element.scrollTop = Math.max(0, (found - 5) * LINE)
  }, [found])
  const canRead = read < bytes && !loading && error === undefined
  useEffect(() => {
    const element = scroller.current
    // If all lines fit into the view, no scroll event occurs, so the next piece is loaded here.
    if (canRead && element !== null && element.scrollHeight <= element.clientHeight) void store.more()
  }, [canRead, lines])
  return (
    <div
      ref={scroller}
      class="output"
      tabIndex={0}
      role="region"
      aria-label="Output"
      onScroll={(event) => {
        const element = event.currentTarget
        setTop(element.scrollTop)
        if (element.scrollTop + 2 * element.clientHeight > element.scrollHeight && !loading) void store.more()
      }}
    >
      <div class="output-lines" style={{ height: `${lines.length * LINE}px` }}>
        <div style={{ transform: `translateY(${first * LINE}px)` }}>
          {shown.map((line, index) => (
            <div key={first + index} class={`line${first + index === found ? ' found' : ''}`}>
              <span class="line-number">{first + index + 1}</span>
              {marked(line, text)}
            </div>
          ))}
        </div>
      </div>
    </div>
  )
}
