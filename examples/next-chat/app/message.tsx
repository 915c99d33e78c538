'use client'

import { isToolUIPart, getToolName } from 'ai'
import type { UIMessage } from 'ai'
import { useState } from 'react'

interface Props {
  readonly message: UIMessage
  readonly isBusy: boolean
  onEdit(text: string): void
  onDecide(approval: string, approved: boolean): void
}

const textOf = ({ parts }: UIMessage): string => parts.map((part) => (part.type === 'text' ? part.text : '')).join('')

/** One message. A user's message can be edited: the conversation continues from there. */
export function Message({ message, isBusy, onEdit, onDecide }: Props) {
  const [draft, setDraft] = useState<string>()
  if (draft !== undefined)
    return (
      <li className="user">
        <form
          onSubmit={(event) => {
            event.preventDefault()
            setDraft(undefined)
            onEdit(draft)
          }}
        >
          <input
            aria-label="Edited message"
            value={draft}
            onChange={({ target }) => setDraft(target.value)}
            autoFocus
          />
          <button disabled={draft.trim() === ''}>Save</button>
          <button type="button" onClick={() => setDraft(undefined)}>
            Cancel
          </button>
        </form>
      </li>
    )
  return (
    <li className={message.role}>
      {message.parts.map((part, index) => (
        <Part key={index} part={part} onDecide={onDecide} />
      ))}
      {message.role === 'user' && (
        <button className="edit" disabled={isBusy} onClick={() => setDraft(textOf(message))}>
          Edit
        </button>
      )}
    </li>
  )
}

function Part({ part, onDecide }: { readonly part: UIMessage['parts'][number]; onDecide: Props['onDecide'] }) {
  if (part.type === 'text') return <p>{part.text}</p>
  if (part.type === 'reasoning') return <p className="reasoning">{part.text}</p>
  if (!isToolUIPart(part)) return null
  return (
    <div className="call">
      <code>{getToolName(part)}</code> {part.state}
      {part.state === 'approval-requested' && (
        <>
          <button onClick={() => onDecide(part.approval.id, true)}>Approve</button>
          <button onClick={() => onDecide(part.approval.id, false)}>Deny</button>
        </>
      )}
    </div>
  )
}
