import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Message } from '../../functions/client/api-types.ts'
import { duration, plural, size } from '../shell/words.ts'
import { OutputViewer } from './output-viewer.tsx'
import { Value } from './value.tsx'

/** What it says and how long it took in one line; open, its arguments and its result. */
export function ToolCall(props: {
  readonly message: Message
  /** As the model sent them, if its message is known. */
  readonly input: string | undefined
  readonly target: string | undefined
  /** What members of the team did for it. */
  readonly children?: ComponentChildren
}) {
  const { message, input, target, children } = props
  const isTarget = message.id === target
  const [isOpen, setOpen] = useState(isTarget)
  const status = message.status ?? 'completed'
  return (
    <details
      class={`call ${status}${isTarget ? ' target' : ''}`}
      id={message.id}
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <span class={`state ${status}`}>{status}</span>
        <code class="call-line">{message.call ?? message.tool_name}</code>
        <span class="when">{message.duration_ms === undefined ? '' : duration(message.duration_ms)}</span>
      </summary>
      {isOpen ? <CallBody message={message} input={input} /> : null}
      {children}
    </details>
  )
}

function CallBody({ message, input }: { readonly message: Message; readonly input: string | undefined }) {
  const [viewing, setViewing] = useState(false)
  const text = message.parts.map((part) => ('text' in part ? part.text : `[${part.type}]`)).join('\n')
  const { output, status } = message
  return (
    <div class="call-body">
      {input === undefined ? null : <Value name="Arguments" text={input} />}
      {text === '' ? null : <Value name={status === 'error' ? 'Error' : 'Result'} text={text} />}
      {output === undefined ? null : (
        <p class="row quiet output-facts">
          {size(output.bytes)}, {plural(output.lines, 'line')}
          {output.offloaded ? ', of which the model was shown the beginning' : ''}
          <span class="grow" />
          <button type="button" onClick={() => setViewing(true)}>
            Open output
          </button>
        </p>
      )}
      {viewing ? <OutputViewer message={message} close={() => setViewing(false)} /> : null}
    </div>
  )
}
