import { useContext } from 'preact/hooks'
import type { Message } from '../../functions/client/api-types.ts'
import { Problem } from '../shell/failure.tsx'
import { withBidiShown } from '../text/bidi.ts'
import { timeOrDate, whole } from '../text/times.ts'
import { tokens } from '../text/words.ts'
import { href } from '../shell/place.ts'
import { programName } from '../sessions/session-facts.ts'
import { Marked, MarkedWords } from '../text/marked-words.tsx'
import { TargetWords, ToolCall } from '../tools/tool-call.tsx'
import { holderOf } from '../log/entries.ts'
import type { CallEntry, Entry } from '../log/entries.ts'
import type { Draft } from '../log/log.ts'
import { Markdown } from './markdown.tsx'
import { Media } from './media.tsx'

/** Shows one message with its calls. `target`: the message in the address. */
export function EntryView({ entry, target }: { readonly entry: Entry; readonly target?: string | undefined }) {
  const { message, calls } = entry
  const words = useContext(TargetWords)
  if (message.role === 'tool')
    return (
      <>
        {calls.map((call) => (
          <Call key={call.message.id} call={call} target={target} />
        ))}
      </>
    )
  return (
    <article class={`entry ${message.role}${message.id === target ? ' target' : ''}`} id={message.id} tabIndex={-1}>
      <EntryHead message={message} />
      <MarkedWords.Provider value={message.id === target ? words : undefined}>
        <Parts message={message} />
      </MarkedWords.Provider>
      {calls.length === 0 ? null : (
        <div class="calls">
          {calls.map((call) => (
            <Call key={call.message.id} call={call} target={target} />
          ))}
        </div>
      )}
    </article>
  )
}

function Call({ call, target }: { readonly call: CallEntry; readonly target: string | undefined }) {
  return (
    <ToolCall
      message={call.message}
      input={call.input}
      target={target}
      holdsTarget={target !== undefined && holderOf(call.members, target) !== undefined}
    >
      {call.members.length === 0 ? null : (
        <div class="members">
          {call.members.map((entry) => (
            <EntryView key={entry.message.id} entry={entry} target={target} />
          ))}
        </div>
      )}
    </ToolCall>
  )
}

/** Returns the author of an input. For a member, the input is the task from its leader. */
const authorOf = ({ user, parent_tool_call_id: task, agent }: Message): string =>
  task === undefined ? (user ?? 'You') : `Task for ${agent}`

function EntryHead({ message }: { readonly message: Message }) {
  const { session_id: session, id, role, created_at: created, usage, model, superseded_by: by } = message
  return (
    <header>
      <span class="who">{role === 'user' ? authorOf(message) : programName(message.agent)}</span>
      <a
        class="when"
        href={href(`/sessions/${encodeURIComponent(session)}#${id}`)}
        title={`${whole(created)}: link to this message`}
      >
        <time dateTime={created}>{timeOrDate(created)}</time>
      </a>
      {by === undefined ? null : <span class="when replaced">replaced by a later run</span>}
      {model === undefined ? null : <span class="when model">{model}</span>}
      {usage === undefined ? null : (
        <span class="when">
          {tokens(usage.input_tokens)} in, {tokens(usage.output_tokens)} out
        </span>
      )}
    </header>
  )
}

function Parts({ message }: { readonly message: Message }) {
  return (
    <>
      {message.parts.map((part, index) => {
        switch (part.type) {
          case 'text':
            return message.role === 'user' ? (
              <div key={index} class="said">
                <Marked text={part.text} />
              </div>
            ) : (
              <Markdown key={index} text={part.text} />
            )
          case 'reasoning':
            return part.text === '' ? null : <Reasoning key={index} text={part.text} />
          case 'image':
          case 'file':
            return <Media key={part.id} message={message} part={part} />
          case 'error':
            return <Problem key={index} details={part.code} text={part.text} />
          default:
            return null
        }
      })}
    </>
  )
}

function Reasoning({ text, open = false }: { readonly text: string; readonly open?: boolean }) {
  return (
    <details class="reasoning" open={open}>
      <summary>Reasoning</summary>
      <div class="said">{text}</div>
    </details>
  )
}

/** Shows a streaming completion. */
export function DraftView({ draft }: { readonly draft: Draft }) {
  return (
    <article class="entry assistant draft">
      <header>
        <span class="who">{draft.agent ?? 'Assistant'}</span>
        <span class="when">round {draft.round}</span>
      </header>
      {draft.parts.map((part, index) =>
        part.type === 'call' ? (
          <div key={index} class="call running">
            <code class="call-line">{withBidiShown(`${part.name}(${part.arguments.slice(0, 400)}`)}</code>
          </div>
        ) : part.type === 'reasoning' ? (
          <Reasoning key={index} text={part.text} open />
        ) : (
          <Markdown key={index} text={part.text} />
        ),
      )}
      <span class="cursor" aria-hidden="true" />
    </article>
  )
}
