import { useState } from 'preact/hooks'

const SHOWN_MS = 1_500

/** A button that copies a text and confirms it. */
export function Copy({
  text,
  label = 'Copy',
}: {
  readonly text: () => string | Promise<string>
  readonly label?: string
}) {
  const [said, setSaid] = useState(label)
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(await text())
      setSaid('Copied')
    } catch {
      // Browsers forbid copying on pages without TLS. A person may forbid copying, too.
      setSaid('Not allowed')
    }
    setTimeout(() => setSaid(label), SHOWN_MS)
  }
  return (
    <button type="button" class="link" onClick={() => void copy()}>
      {said}
    </button>
  )
}
