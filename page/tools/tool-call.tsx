import type { ComponentChildren } from 'preact'
import { createContext } from 'preact'
import { useContext, useLayoutEffect, useState } from 'preact/hooks'
import type { Message } from '../../functions/client/api-types.ts'
import { withBidiShown } from '../text/bidi.ts'
import { MarkedWords } from '../text/marked-words.tsx'
import { duration, plural, size } from '../text/words.ts'
import { Value } from './value.tsx'

/** Opens a view of the whole output of a call. The view stays open when the call scrolls out of sight. */
export const ShowOutput = createContext<(message: Message) => void>(() => undefined)

/** Pattern of the words to mark in the message that the page's address names. */
export const TargetWords = createContext<RegExp | undefined>(undefined)

/** Shows a call and its duration on one line. When opened, it shows the arguments and the result. */
export function ToolCall(props: {
  readonly message: Message
  /** The arguments as the model sent them. Undefined if the message with the call is not loaded. */
  readonly input: string | undefined
  readonly target: string | undefined
  /** Whether the message in the page's address is part of the members' work for this call. */
  readonly holdsTarget: boolean
  /** The members' work for this call. */
  readonly children?: ComponentChildren
}) {
  const { message, input, target, holdsTarget, children } = props
  const isTarget = message.id === target
  const words = useContext(TargetWords)
  const [isOpen, setOpen] = useState(isTarget || holdsTarget)
  useLayoutEffect(() => {
    if (isTarget || holdsTarget) setOpen(true)
  }, [target])
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
        <code class="call-line">{withBidiShown(message.call ?? message.tool_name ?? '')}</code>
        <span class="when">{message.duration_ms === undefined ? '' : duration(message.duration_ms)}</span>
      </summary>
      <MarkedWords.Provider value={isTarget ? words : undefined}>
        {isOpen ? <CallBody message={message} input={input} /> : null}
      </MarkedWords.Provider>
      {children}
    </details>
  )
}

function CallBody({ message, input }: { readonly message: Message; readonly input: string | undefined }) {
  const showOutput = useContext(ShowOutput)
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
          <button type="button" onClick={() => showOutput(message)}>
            Open output
          </button>
        </p>
      )}
    </div>
  )
}
