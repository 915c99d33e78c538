import { useEffect, useMemo, useState } from 'preact/hooks'
import type { ConversationStore } from '../conversation/conversation-store.ts'
import { isActive } from '../log/log.ts'
import { href } from '../shell/place.ts'
import { useStore } from '../shell/store.ts'
import { whole } from '../text/times.ts'
import { duration } from '../text/words.ts'
import { runSpans } from './spans.ts'
import type { RunSpans, Span } from './spans.ts'

/** Shows the durations of actions: one waterfall for each loaded run, newest run first. */
export function Timeline({ store, session }: { readonly store: ConversationStore; readonly session: string }) {
  const { log, older, loaded } = useStore(store)
  const [now, setNow] = useState(Date.now())
  const active = isActive(log.run)
  useEffect(() => {
    if (!active) return undefined
    const timer = setInterval(() => setNow(Date.now()), 250)
    return () => clearInterval(timer)
  }, [active])
  const runs = useMemo(() => runSpans(log.messages, active ? now : Date.now()), [log.messages, now, active])
  return (
    <div class="view" tabIndex={0} role="region" aria-label="Timeline">
      {runs.length === 0 ? <p class="quiet edge">{loaded ? 'Nothing has happened here yet.' : 'Loading…'}</p> : null}
      {runs.map((run) => (
        <Waterfall key={run.run} run={run} session={session} />
      ))}
      {older ? (
        <button type="button" class="more" onClick={() => void store.loadOlder()}>
          Older runs
        </button>
      ) : null}
    </div>
  )
}

function Waterfall({ run, session }: { readonly run: RunSpans; readonly session: string }) {
  const whole_ms = run.to - run.from
  return (
    <article class="waterfall" aria-label={run.title}>
      <header class="row">
        <h2>{run.title}</h2>
        <span class="grow" />
        <span class="when">
          {whole(new Date(run.from).toISOString())}
          {whole_ms > 1 ? `, ${duration(whole_ms)}` : ''}
        </span>
      </header>
      <ol>
        {run.spans.map((span) => (
          <Bar key={span.id} span={span} run={run} session={session} />
        ))}
      </ol>
    </article>
  )
}

function Bar({ span, run, session }: { readonly span: Span; readonly run: RunSpans; readonly session: string }) {
  const share = (ms: number): string => `${(100 * ms) / (run.to - run.from)}%`
  const took = span.to === span.from ? '' : duration(span.to - span.from)
  return (
    <li>
      <a
        href={href(`/sessions/${encodeURIComponent(session)}#${span.id}`)}
        title={[`${span.label}: ${span.status}`, took].filter((text) => text !== '').join(', ')}
        class="span-row"
      >
        <span class="span-label" style={{ paddingLeft: `${span.depth * 14}px` }}>
          <span class={`dot ${span.kind === 'model' ? 'model' : span.status}`} />
          <code>{span.label}</code>
          {span.kind === 'tool' && span.status !== 'completed' ? (
            <span class={`state ${span.status}`}>{span.status}</span>
          ) : null}
        </span>
        <span class="lane" aria-hidden="true">
          <span
            class={`bar ${span.kind === 'model' ? 'model' : span.status}`}
            style={{ left: share(span.from - run.from), width: share(span.to - span.from) }}
          />
        </span>
        <span class="when">{took}</span>
      </a>
    </li>
  )
}
