'use client'

import { useChat } from '@ai-sdk/react'
import type { Chat } from '@ai-sdk/react'
import type { UIMessage } from 'ai'
import { useEffect, useState } from 'react'
import { changed, openChat } from './chats'
import { Message } from './message'

/** Opens a chat and shows it. */
export function Conversation({ id }: { readonly id: string }) {
  const [chat, setChat] = useState<Chat<UIMessage>>()
  const [error, setError] = useState('')
  useEffect(() => {
    openChat(id).then(setChat, (cause: unknown) => setError(String(cause)))
  }, [id])
  if (error !== '') return <p role="alert">{error}</p>
  return chat === undefined ? <p className="loading">Loading…</p> : <OpenChat chat={chat} />
}

function OpenChat({ chat }: { readonly chat: Chat<UIMessage> }) {
  // `resume` follows a run that is in progress, for example after a reload.
  const { messages, sendMessage, regenerate, stop, status, error, addToolApprovalResponse } = useChat({
    chat,
    resume: true,
  })
  const [text, setText] = useState('')
  const isBusy = status === 'submitted' || status === 'streaming'
  const send = (content: string, messageId?: string): void => {
    void sendMessage({ text: content, messageId })
    changed()
  }
  return (
    <>
      <ol aria-label="Messages" aria-busy={isBusy}>
        {messages.map((message) => (
          <Message
            key={message.id}
            message={message}
            isBusy={isBusy}
            onEdit={(content) => send(content, message.id)}
            onDecide={(approval, approved) => void addToolApprovalResponse({ id: approval, approved })}
          />
        ))}
      </ol>
      {error !== undefined && <p role="alert">{error.message}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (text.trim() === '' || isBusy) return
          send(text)
          setText('')
        }}
      >
        <input aria-label="Message" value={text} onChange={({ target }) => setText(target.value)} autoFocus />
        {isBusy ? (
          <button type="button" onClick={() => void stop()}>
            Stop
          </button>
        ) : (
          <button>Send</button>
        )}
        <button
          type="button"
          disabled={isBusy || messages.at(-1)?.role !== 'assistant'}
          onClick={() => void regenerate()}
        >
          Regenerate
        </button>
      </form>
    </>
  )
}
