/** One server-sent event, as far as the API uses them. */
export interface SentEvent {
  readonly id?: string
  readonly data: string
}

/** The events of a body as they come in. Comments and events without data are left out. Ends when the body ends. */
export async function* sentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<SentEvent, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      rest += decoder.decode(value, { stream: true }).replaceAll('\r', '')
      const blocks = rest.split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const event = parse(block)
        if (event !== undefined) yield event
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined) // It has failed or ended already; whoever reads knows.
  }
}

function parse(block: string): SentEvent | undefined {
  const fields = block.split('\n').map((line) => /^(id|data): ?(.*)$/s.exec(line))
  const valuesOf = (name: string): string[] => fields.flatMap((field) => (field?.[1] === name ? [field[2] ?? ''] : []))
  const data = valuesOf('data')
  const id = valuesOf('id').at(-1)
  if (data.length === 0) return undefined
  return { data: data.join('\n'), ...(id === undefined ? {} : { id }) }
}
