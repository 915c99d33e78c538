import { useState } from 'preact/hooks'
import { client } from '../shell/api.ts'
import { BusyButton } from '../shell/busy-button.tsx'
import { Dialog } from '../shell/dialog.tsx'
import { Failure } from '../shell/failure.tsx'
import { go, isAt } from '../shell/place.ts'

interface Props {
  readonly session: string
  readonly title: string
  /** Called after the session was deleted. */
  readonly changed: (gone: string) => void
}

/** Deletes a session after a confirmation. */
export function DeleteSession(props: Props) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <button type="button" class="session-action" onClick={() => setOpen(true)}>
        Delete
      </button>
      {open ? (
        <Dialog title="Delete this session?" close={() => setOpen(false)}>
          <Question {...props} cancel={() => setOpen(false)} />
        </Dialog>
      ) : null}
    </>
  )
}

function Question({ session, title, changed, cancel }: Props & { readonly cancel: () => void }) {
  const [error, setError] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  const remove = async (): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      await client.deleteSession(session)
      changed(session)
      if (isAt(session)) go('/', { replace: true })
    } catch (failure) {
      setError(failure)
      setBusy(false)
    }
  }
  return (
    <div class="question">
      <p>
        <strong>{title}</strong> is deleted with everything that was said and done in it, also from the search. Nobody
        can bring it back.
      </p>
      {error === undefined ? null : <Failure error={error} />}
      <div class="row">
        <BusyButton class="danger" isBusy={busy} onClick={() => void remove()}>
          Delete for good
        </BusyButton>
        <BusyButton isBusy={busy} onClick={cancel}>
          Keep it
        </BusyButton>
      </div>
    </div>
  )
}
