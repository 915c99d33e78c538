import { expect } from 'vitest'
import { SECRET } from '../../channels/receiver.ts'
import type { Receiver } from '../../channels/receiver.ts'
import type { Client } from '../client.ts'

/** The callback that scenarios name. */
export const CALLBACK_NAME = 'receiver'

export interface ListedCallback {
  readonly id: string
  readonly run_id: string
  readonly status: 'pending' | 'delivered' | 'failed'
}

/** Of `agents.json`. */
export const callbacksTo = ({ url }: Pick<Receiver, 'url'>): object => ({ [CALLBACK_NAME]: { url, secret: SECRET } })

/** Each callback of a session was delivered: the receiver knows it by one id, with the same bytes however often it came. */
export async function expectTold(
  client: Client,
  session: string,
  receiver: Receiver,
  types: readonly string[],
): Promise<void> {
  const listed = await client.all<ListedCallback>(`/v1/callbacks?limit=100&session=${session}`)
  expect(
    listed.map(({ status }) => status),
    `${session}: its callbacks`,
  ).toStrictEqual(types.map(() => 'delivered'))
  const requests = receiver.requests.filter(({ body }) => sessionOf(body) === session)
  const byId = Map.groupBy(requests, ({ id }) => id)
  expect([...byId.keys()].toSorted(), `${session}: ids of what was received`).toStrictEqual(
    listed.map(({ id }) => id).toSorted(),
  )
  for (const [id, same] of byId)
    expect(new Set(same.map(({ body }) => body)).size, `${session}: bodies of callback ${id}`).toBe(1)
  expect(
    [...byId.values()].map(([first]) => String(first?.type)).toSorted(),
    `${session}: types of callbacks`,
  ).toStrictEqual([...types].toSorted())
}

const sessionOf = (body: string): string =>
  (JSON.parse(body) as { readonly data: { readonly session_id: string } }).data.session_id
