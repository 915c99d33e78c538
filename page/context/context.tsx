import { useEffect, useState } from 'preact/hooks'
import type { Context } from '../../functions/client/api-types.ts'
import { client } from '../shell/api.ts'
import { BusyButton } from '../shell/busy-button.tsx'
import { Failure } from '../shell/failure.tsx'
import { whole } from '../text/times.ts'
import { compact, plural } from '../text/words.ts'
import { contextParts, KINDS } from './context-parts.ts'
import type { ContextPart } from './context-parts.ts'

/** Maximum characters and lines of a part that are shown before a person expands it. */
const SHOWN = 180
const LINES = 4

/**
 * Shows the content of the next model request, and its share of the context window. The content is read again when
 * `changed` has a new value.
 */
export function ContextView({ session, changed }: { readonly session: string; readonly changed: unknown }) {
  const [context, setContext] = useState<Context>()
  const [error, setError] = useState<unknown>()
  const [working, setWorking] = useState(false)
  const read = async (signal?: AbortSignal): Promise<void> => {
    try {
      setContext(await client.readContext(session, { signal }))
    } catch (failure) {
      if (signal?.aborted !== true) setError(failure)
    }
  }
  useEffect(() => {
    const leaving = new AbortController()
    void read(leaving.signal)
    return () => leaving.abort()
  }, [session, changed])
  const summarise = async (): Promise<void> => {
    setWorking(true)
    setError(undefined)
    try {
      await client.consolidate(session)
      await read()
    } catch (failure) {
      setError(failure)
    }
    setWorking(false)
  }
  return (
    <div class="view" tabIndex={0} role="region" aria-label="What the model sees">
      {error === undefined ? null : <Failure error={error} />}
      {context === undefined ? (
        <p class="quiet edge">{error === undefined ? 'Loading…' : ''}</p>
      ) : (
        <Parts context={context} working={working} summarise={summarise} />
      )}
    </div>
  )
}

interface Props {
  readonly context: Context
  readonly working: boolean
  readonly summarise: () => Promise<void>
}

function Parts({ context, working, summarise }: Props) {
  const parts = contextParts(context)
  const { estimated_tokens: estimated, context_tokens: maxTokens, summary, omitted, tools } = context
  return (
    <>
      <section class="card">
        <header class="row">
          <h2>The next request</h2>
          <span class="quiet">{context.model}</span>
          <span class="grow" />
          <BusyButton isBusy={working} onClick={() => void summarise()}>
            {working ? 'Summarising…' : 'Summarise now'}
          </BusyButton>
        </header>
        <p class="figure">
          ≈ {compact(estimated)}{' '}
          <span class="quiet">
            of {compact(maxTokens)} tokens, {percent(estimated, maxTokens)}
          </span>
        </p>
        <Stack parts={parts} maxTokens={Math.max(maxTokens, estimated)} />
        <ul class="legend">
          {KINDS.map(({ kind, label }) => {
            const sum = parts.filter((part) => part.kind === kind).reduce((all, { tokens }) => all + tokens, 0)
            return sum === 0 ? null : (
              <li key={kind}>
                <span class={`swatch ${kind}`} /> {label} <span class="quiet">≈ {compact(sum)}</span>
              </li>
            )
          })}
        </ul>
        {omitted.messages === 0 ? null : (
          <p class="notice">
            {plural(omitted.messages, 'message')} left out: they no longer fit. They stay in the log, and search finds
            them.
          </p>
        )}
        {summary === null ? null : (
          <p class="quiet">
            A summary of {whole(summary.created_at)} stands for {plural(summary.messages, 'older message')}.
          </p>
        )}
        <p class="quiet">{tools.length === 0 ? 'No tool is declared.' : `Tools: ${tools.join(', ')}`}</p>
      </section>
      <ol class="parts">
        {parts.map((part, index) => (
          <PartRow key={index} part={part} largest={Math.max(...parts.map(({ tokens }) => tokens))} />
        ))}
      </ol>
    </>
  )
}

const percent = (part: number, all: number): string => `${((100 * part) / all).toFixed(part / all < 0.1 ? 1 : 0)} %`

/** Shows the parts to scale. The empty part is the free rest of the context window. */
function Stack({ parts, maxTokens }: { readonly parts: readonly ContextPart[]; readonly maxTokens: number }) {
  return (
    <div class="stack" aria-hidden="true">
      {KINDS.map(({ kind }) => {
        const sum = parts.filter((part) => part.kind === kind).reduce((all, { tokens }) => all + tokens, 0)
        return sum === 0 ? null : <span key={kind} class={kind} style={{ width: `${(100 * sum) / maxTokens}%` }} />
      })}
    </div>
  )
}

function PartRow({ part, largest }: { readonly part: ContextPart; readonly largest: number }) {
  const [open, setOpen] = useState(false)
  const { kind, name, text, tokens } = part
  const isLong = text.length > SHOWN || text.split('\n', LINES + 1).length > LINES
  return (
    <li class="part">
      <span class="part-name">
        <span class={`swatch ${kind}`} /> {name}
      </span>
      <span class="part-size">
        <span class="meter" aria-hidden="true">
          <span class={kind} style={{ width: `${(100 * tokens) / Math.max(1, largest)}%` }} />
        </span>
        <span class="when">≈ {compact(tokens)}</span>
      </span>
      <div class={`part-text${open ? '' : ' closed'}`}>
        {open ? text : text.slice(0, SHOWN).split('\n').slice(0, LINES).join('\n')}
        {isLong ? (
          <button type="button" class="link" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? 'Less' : '… more'}
          </button>
        ) : null}
      </div>
    </li>
  )
}
