import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Session } from '../../functions/client/api-types.ts'

/** Returns the displayed name of a session, which is never its id. A session has no title before its first input. */
export const titleOf = ({ title }: Pick<Session, 'title'>): string => title ?? 'Untitled session'

/** Shows the title as a heading that becomes a field to rename the session. */
export function SessionTitle({
  title,
  rename,
}: {
  readonly title: string | null
  readonly rename: (title: string) => Promise<void>
}) {
  const [editing, setEditing] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  /** Whether the person ended the editing with a key. If so, the title keeps the focus. */
  const byKey = useRef(false)
  // A layout effect runs before the next key. A normal effect could run after Enter, and would then reset `byKey` too
  // early.
  useLayoutEffect(() => {
    if (editing) field.current?.focus()
    else if (byKey.current) button.current?.focus()
    byKey.current = false
  }, [editing])
  const done = (text: string): void => {
    setEditing(false)
    if (text.trim() !== (title ?? '')) void rename(text.trim())
  }
  if (!editing)
    return (
      <h1>
        <button ref={button} type="button" class="title" title="Rename" onClick={() => setEditing(true)}>
          {titleOf({ title })}
        </button>
      </h1>
    )
  return (
    <h1>
      <input
        ref={field}
        class="title-field"
        aria-label="Title"
        defaultValue={title ?? ''}
        maxLength={500}
        onBlur={(event) => {
          if (!byKey.current) done(event.currentTarget.value)
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' && event.key !== 'Escape') return
          // Enter must not also press the button that gets the focus.
          event.preventDefault()
          byKey.current = true
          if (event.key === 'Enter') done(event.currentTarget.value)
          else setEditing(false)
        }}
      />
    </h1>
  )
}
