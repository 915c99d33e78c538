import { useEffect, useState } from 'preact/hooks'
import type { Message } from '../../functions/client/api-types.ts'
import { client } from '../shell/api.ts'
import { size } from '../text/words.ts'
import { Download } from '../tools/download.tsx'

type MediaPart = Extract<Message['parts'][number], { readonly media_type: string }>

/** Image types that cannot contain scripts, only pixels. */
const SHOWN = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']
const MAX_IMAGE_BYTES = 10_000_000

/** Shows an image, or a link to download a file. */
export function Media({ message, part }: { readonly message: Message; readonly part: MediaPart }) {
  const [url, setUrl] = useState<string>()
  const isShown = SHOWN.includes(part.media_type) && part.bytes <= MAX_IMAGE_BYTES
  const read = (): Promise<Response> => client.readOutput(message.session_id, message.id, { part: part.id })
  useEffect(() => {
    if (!isShown) return undefined
    let made: string | undefined
    let gone = false
    const show = async (): Promise<void> => {
      const blob = await (await read()).blob()
      if (gone) return
      made = URL.createObjectURL(blob.slice(0, blob.size, part.media_type))
      setUrl(made)
    }
    show().catch(() => undefined) // A failure is ignored: the file's name remains visible, and the download shows the error.
    return () => {
      gone = true
      if (made !== undefined) URL.revokeObjectURL(made)
    }
  }, [part.id])
  const name = part.filename ?? part.media_type
  return (
    <figure class="media">
      {url === undefined ? null : <img src={url} alt={name} />}
      <figcaption>
        {name}, {size(part.bytes)} <Download read={read} name={name} style="link" />
      </figcaption>
    </figure>
  )
}
