import { useState } from 'preact/hooks'
import { Failure } from '../shell/failure.tsx'
import { saveAs } from './save.ts'

/** A button that saves a response as a file, or shows why the response could not be read. */
export function Download(props: {
  readonly read: () => Promise<Response>
  readonly name: string
  /** @default - the style of a button */
  readonly style?: 'link'
}) {
  const [error, setError] = useState<unknown>()
  const download = async (): Promise<void> => {
    setError(undefined)
    try {
      saveAs(await (await props.read()).blob(), props.name)
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <>
      <button type="button" class={props.style ?? ''} onClick={() => void download()}>
        Download
      </button>
      {error === undefined ? null : <Failure error={error} />}
    </>
  )
}
