'use client'

import Link from 'next/link'
import { usePathname } from 'next/navigation'
import { useEffect, useState } from 'react'
import { listSessions, onChange } from './chats'

/** Interval at which the list is read again, because other clients start sessions, too. */
const INTERVAL_MS = 10_000

/** The list of sessions. */
export function Sessions() {
  const path = usePathname()
  const [sessions, setSessions] = useState<Awaited<ReturnType<typeof listSessions>>>([])
  const [error, setError] = useState('')
  useEffect(() => {
    const read = (): void =>
      void listSessions().then(
        (list) => {
          setSessions(list)
          setError('')
        },
        (cause: unknown) => setError(String(cause)),
      )
    read()
    const timer = setInterval(read, INTERVAL_MS)
    const forget = onChange(read)
    return () => {
      clearInterval(timer)
      forget()
    }
  }, [])
  return (
    <nav aria-label="Chats">
      <Link href={{ pathname: '/', query: { new: Date.now() } }} prefetch={false} className="new">
        New chat
      </Link>
      <ul>
        {sessions.map(({ id, title }) => (
          <li key={id}>
            <Link
              href={`/chat/${encodeURIComponent(id)}`}
              prefetch={false}
              aria-current={path === `/chat/${encodeURIComponent(id)}` ? 'page' : undefined}
            >
              {title ?? 'Untitled'}
            </Link>
          </li>
        ))}
      </ul>
      {error !== '' && <p role="alert">{error}</p>}
    </nav>
  )
}
