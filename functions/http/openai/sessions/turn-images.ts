import type { RouteDependencies } from '../../dependencies.ts'
import { withImages } from '../../v1/messages/incoming-images.ts'
import type { ImageCaller } from '../../v1/messages/incoming-images.ts'
import type { ChatTurn, ReadyTurn } from './chat-turn.ts'

/**
 * Fetches the turn's images, and then calls `accept` with the turn. Nothing is stored before `accept` is called.
 * `field`: the field that contains a part's image, unless `bytesAt` names another one.
 */
export async function withTurnImages<Accepted>(
  dependencies: RouteDependencies,
  { tenant, signal }: ImageCaller,
  { turn, field }: { readonly turn: ChatTurn; readonly field: string },
  accept: (turn: ReadyTurn) => Promise<Accepted>,
): Promise<Accepted> {
  const { input } = turn
  const content = input.said.map(({ parts, at, bytesAt }) => ({
    path: `body.${at}.content`,
    field: (index: number) => bytesAt?.[index] ?? field,
    parts,
  }))
  return withImages(dependencies, { tenant, signal }, content, (ready) => {
    const said = input.said.map((one, index) => ({ ...one, parts: ready[index] ?? [] }))
    return accept({ ...turn, input: { ...input, said } })
  })
}
