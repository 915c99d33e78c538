import { useEffect, useRef, useState } from 'preact/hooks'
import { contentOf } from '../conversation/attachments.ts'
import { Composer } from '../conversation/composer.tsx'
import { restore, keepFirst } from '../conversation/drafts.ts'
import type { Draft } from '../conversation/drafts.ts'
import { client, listAgents } from '../shell/api.ts'
import { Failure } from '../shell/failure.tsx'
import { go, href } from '../shell/place.ts'

/** Key of the draft for a new session; no session has this id. */
const NONE = ''

/** Creates a session with its first message. */
export function NewSession({ changed }: { readonly changed: () => void }) {
  const agents = useAgents()
  const [chosen, setChosen] = useState<string>()
  const agent = chosen ?? agents.find((name) => name === 'default') ?? agents[0]
  const [failure, setFailure] = useState<unknown>()
  /** Whether this view is still shown. */
  const isHere = useRef(true)
  useEffect(() => {
    document.title = 'New session · Tooltrail'
    return () => void (isHere.current = false)
  }, [])
  const create = async (draft: Draft): Promise<void> => {
    setFailure(undefined)
    try {
      const { id } = await client.createSession(agent === undefined ? {} : { agent })
      changed()
      if (!isHere.current) return await sendElsewhere(id, draft)
      keepFirst(id, draft)
      go(`/sessions/${id}`, { replace: true })
    } catch (error) {
      restore(NONE, draft)
      setFailure(error)
    }
  }
  return (
    <section class="session" aria-label="New session">
      <header class="session-head">
        <a class="back" href={href('/')} aria-label="All sessions">
          ‹
        </a>
        <h1>New session</h1>
      </header>
      <div class="conversation">
        <div class="scroller" tabIndex={0} role="region" aria-label="Before the first message">
          <p class="quiet edge">It begins with your first message.</p>
          {agents.length > 1 ? (
            <label class="choice">
              Agent
              <select value={agent} onChange={(event) => setChosen(event.currentTarget.value)}>
                {agents.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
          ) : null}
          {failure === undefined ? null : <Failure error={failure} />}
        </div>
        <Composer session={NONE} run={undefined} isFocused send={create} />
      </div>
    </section>
  )
}

/** Sends the first input of a session whose view is not shown. */
async function sendElsewhere(id: string, draft: Draft): Promise<void> {
  try {
    await client.sendMessage(id, { content: await contentOf(draft) })
  } catch {
    restore(id, draft) // The draft is restored. When a person opens the session and sends the draft again, the error is shown.
  }
}

/** Returns the agents that the key may use, once they are known. */
function useAgents(): readonly string[] {
  const [agents, setAgents] = useState<readonly string[]>([])
  useEffect(() => {
    const leaving = new AbortController()
    // A failure is ignored, because the choice is optional: without an agent, the API uses its default.
    void listAgents(leaving.signal).then(setAgents, () => undefined)
    return () => leaving.abort()
  }, [])
  return agents
}
