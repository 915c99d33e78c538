import { useEffect, useRef, useState } from 'preact/hooks'
import { client } from '../shell/api.ts'

/**
 * Returns the titles of these sessions by session id, as they arrive. A session that is deleted or has no title is
 * shown by its id.
 */
export function useTitles(ids: readonly string[]): ReadonlyMap<string, string> {
  const [titles, setTitles] = useState<ReadonlyMap<string, string>>(new Map())
  const [leaving] = useState(() => new AbortController())
  const asked = useRef(new Set<string>())
  useEffect(() => () => leaving.abort(), [])
  useEffect(() => {
    const read = async (id: string): Promise<void> => {
      const { title } = await client.readSession(id, { signal: leaving.signal })
      if (title !== null) setTitles((known) => new Map([...known, [id, title]]))
    }
    for (const id of ids) {
      if (asked.current.has(id)) continue
      asked.current.add(id)
      // If a title cannot be read, the id is shown instead.
      void read(id).catch(() => undefined)
    }
  }, [ids.join()])
  return titles
}
