import { useEffect, useRef, useState } from 'preact/hooks'
import { client } from '../shell/api.ts'

/** The titles of these sessions by their ids, as they arrive. One that is gone or has no title keeps its id. */
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
      // A title is an extra: the id stands where it cannot be read.
      void read(id).catch(() => undefined)
    }
  }, [ids.join()])
  return titles
}
