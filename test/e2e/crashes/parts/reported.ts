import { expect } from 'vitest'
import { SECRET } from '../../../channels/callbacks/receiver.ts'
import type { Receiver } from '../../../channels/callbacks/receiver.ts'
import type { Client, RunBody } from '../../backend/client.ts'

/** The callback of the scenarios. */
export const CALLBACK_NAME = 'receiver'

export interface ListedCallback {
  readonly id: string
  readonly run_id: string
  readonly status: 'pending' | 'delivered' | 'failed'
}

/** Settings of callbacks to this receiver, in the form of `agents.json`. */
export const callbacksTo = ({ url }: Pick<Receiver, 'url'>): object => ({ [CALLBACK_NAME]: { url, secret: SECRET } })

/**
 * Checks that each callback of a session was delivered. All deliveries of one callback have the same id and the same bytes. A run
 * that was given up reports its failure, and its pause if it has paused before.
 */
export async function expectReported(
  client: Client,
  session: string,
  receiver: Receiver,
  types: readonly string[],
): Promise<void> {
  const runs = await client.all<RunBody>(`/v1/sessions/${session}/runs?limit=100`)
  const isGivenUp = runs.some((run) => run.error?.code === 'crashed_repeatedly')
  const listed = await client.all<ListedCallback>(`/v1/callbacks?limit=100&session=${session}`)
  for (const { id, status } of listed) expect(status, `${session}: callback ${id}`).toBe('delivered')
  const requests = receiver.requests.filter(({ body }) => sessionOf(body) === session)
  const byId = Map.groupBy(requests, ({ id }) => id)
  expect([...byId.keys()].toSorted(), `${session}: ids of what was received`).toStrictEqual(
    listed.map(({ id }) => id).toSorted(),
  )
  for (const [id, same] of byId)
    expect(new Set(same.map(({ body }) => body)).size, `${session}: bodies of callback ${id}`).toBe(1)
  const reported = [...byId.values()].map(([first]) => String(first?.type)).toSorted()
  const expected = isGivenUp ? [['run.failed'], ['run.failed', 'run.paused']] : [[...types].toSorted()]
  expect(expected, `${session}: types of callbacks`).toContainEqual(reported)
}

const sessionOf = (body: string): string =>
  (JSON.parse(body) as { readonly data: { readonly session_id: string } }).data.session_id
