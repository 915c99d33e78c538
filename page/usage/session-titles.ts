import { useEffect, useState } from 'preact/hooks'
import { client } from '../shell/api.ts'

/** The titles of these sessions by their ids, as they arrive. One that is gone or has no title keeps its id. */
export function useTitles(ids: readonly string[]): ReadonlyMap<string, string> {
  const [titles, setTitles] = useState<ReadonlyMap<string, string>>(new Map())
  useEffect(() => {
    const leaving = new AbortController()
    const read = async (id: string): Promise<void> => {
      const { title } = await client.readSession(id, { signal: leaving.signal })
      if (title !== null) setTitles((known) => new Map([...known, [id, title]]))
    }
    // A title is an extra: the id stands where it cannot be read.
    for (const id of ids) if (!titles.has(id)) void read(id).catch(() => undefined)
    return () => leaving.abort()
  }, [ids.join()])
  return titles
}
