import { Chat } from '@ai-sdk/react'
import { lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import type { UIMessage } from 'ai'
import { ChatTransport } from 'tooltrail/ai-sdk'
import { createClient } from 'tooltrail/client'

/** Path of the route that adds the key. */
const URL = '/api/tooltrail'
const transport = new ChatTransport({ url: URL })
const client = createClient({ url: URL })

const listeners = new Set<() => void>()
/** Calls the listener when a message was sent or answered, so that the list of sessions is read again. */
export function onChange(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}
export const changed = (): void => listeners.forEach((listener) => listener())

/**
 * The chats of this page, kept outside of all components. A chat that `useChat` creates is stopped when its component
 * is unmounted. The run would then be cancelled when the user opens another chat.
 */
const chats = new Map<string, Promise<Chat<UIMessage>>>()

/** Returns the chat with this id. Its stored messages are read once. */
export function openChat(id: string): Promise<Chat<UIMessage>> {
  const known = chats.get(id)
  if (known !== undefined) return known
  const opened = readMessages(id).then(
    (messages) =>
      new Chat({
        id,
        messages,
        transport,
        sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
        onFinish: changed,
      }),
  )
  chats.set(id, opened)
  // A failed read is tried again when the chat is opened again.
  opened.catch(() => chats.delete(id))
  return opened
}

async function readMessages(id: string): Promise<UIMessage[]> {
  const response = await fetch(`${URL}/v1/chat/${encodeURIComponent(id)}`)
  if (response.status === 404) return []
  if (!response.ok) throw new Error(`the chat cannot be read: ${response.status}`)
  return (await response.json()) as UIMessage[]
}

/** Returns the newest sessions, with their titles. */
export const listSessions = async () => (await client.listSessions({ limit: 50 })).data
