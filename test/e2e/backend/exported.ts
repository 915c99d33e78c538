/** A line of a native export. */
export interface ExportedMessage {
  readonly id: string
  readonly run_id: string
  readonly role: string
  readonly status?: string
  readonly created_at: string
  readonly recorded_at?: string
  readonly parts: readonly { readonly type: string; readonly text?: string; readonly data?: unknown }[]
  readonly tool_calls?: readonly { readonly id: string; readonly name: string }[]
  readonly numbered?: readonly { readonly message_id: string; readonly from: number }[]
  readonly output?: { readonly offloaded: boolean; readonly url: string }
  readonly [field: string]: unknown
}

/** Returns a session's exported messages, without the first line. */
export async function exportLines(
  get: (path: string) => Promise<Response>,
  session: string,
  query = '',
): Promise<ExportedMessage[]> {
  const response = await get(`/v1/sessions/${session}/export${query}`)
  const [, ...lines] = (await response.text()).trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as ExportedMessage)
}

/** The fields that must be equal after a round trip: all except ids, addresses and the time of the import. */
export function comparable(message: ExportedMessage): unknown {
  const ids = ['id', 'session_id', 'run_id', 'assistant_message_id', 'parent_message_id', 'message_id']
  const own = new Set([...ids, 'pointer', 'url', 'recorded_at'])
  const withoutOwn = (value: unknown, place: string): unknown => {
    if (Array.isArray(value)) return value.map((one) => withoutOwn(one, place))
    if (typeof value !== 'object' || value === null) return value
    const isCall = place === 'tool_calls' || ('type' in value && value.type === 'tool_call')
    const entries = Object.entries(value).filter(([name]) => !own.has(name) || (isCall && name === 'id'))
    return Object.fromEntries(entries.map(([name, inner]) => [name, withoutOwn(inner, name)]))
  }
  return withoutOwn(message, '')
}

/** For each message of this log, returns the index of its delegate call, or -1 for a message of the leader. */
export const parentPlaces = (messages: readonly { readonly [field: string]: unknown }[]): number[] =>
  messages.map(({ parent_message_id: parent }) =>
    parent === undefined ? -1 : messages.findIndex(({ id }) => id === parent),
  )

/** For each result with numbered sources: its index in this log and its first number. */
export const numberedPlaces = (messages: readonly ExportedMessage[]): (readonly [place: number, from: number])[] =>
  messages.flatMap(({ numbered = [] }) =>
    numbered.map(({ message_id: row, from }) => [messages.findIndex(({ id }) => id === row), from] as const),
  )
