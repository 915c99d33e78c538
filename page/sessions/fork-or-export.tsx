import { useState } from 'preact/hooks'
import { client } from '../shell/api.ts'
import { BusyButton } from '../shell/busy-button.tsx'
import { Dialog } from '../shell/dialog.tsx'
import { Failure } from '../shell/failure.tsx'
import { go, isAt } from '../shell/place.ts'
import { saveAs } from '../tools/save.ts'

const FORMATS = [
  { format: 'markdown', ending: 'md', name: 'Markdown', what: 'A page to read.' },
  {
    format: 'openai',
    ending: 'jsonl',
    name: 'Chat Completions',
    what: 'The messages as the model sees them, one per line.',
  },
  {
    format: 'native',
    ending: 'jsonl',
    name: 'Everything',
    what: 'Nothing left out: an import makes the same session of it.',
  },
] as const

/** A button for a dialog in which a person exports a session to a file, or forks it. */
export function TakeAlong({ session }: { readonly session: string }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <button type="button" class="session-action" onClick={() => setOpen(true)}>
        Export
      </button>
      {open ? (
        <Dialog title="Export or fork" close={() => setOpen(false)}>
          <Ways session={session} done={() => setOpen(false)} />
        </Dialog>
      ) : null}
    </>
  )
}

function Ways({ session, done }: { readonly session: string; readonly done: () => void }) {
  const [error, setError] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  const guarded = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      await work()
      done()
    } catch (failure) {
      setError(failure)
      setBusy(false)
    }
  }
  const save = async ({ format, ending }: (typeof FORMATS)[number]): Promise<void> => {
    const response = await client.exportSession(session, { format })
    saveAs(await response.blob(), `${session}.${ending}`)
  }
  const fork = async (): Promise<void> => {
    const copy = await client.forkSession(session)
    if (isAt(session)) go(`/sessions/${encodeURIComponent(copy.id)}`)
  }
  return (
    <div class="ways">
      {FORMATS.map((one) => (
        <BusyButton key={one.format} isBusy={busy} onClick={() => void guarded(() => save(one))}>
          <strong>{one.name}</strong>
          <span class="quiet">{one.what}</span>
        </BusyButton>
      ))}
      <BusyButton isBusy={busy} onClick={() => void guarded(fork)}>
        <strong>Fork</strong>
        <span class="quiet">A session of its own with a copy of this one, up to its last run that has ended.</span>
      </BusyButton>
      {error === undefined ? null : <Failure error={error} />}
    </div>
  )
}
