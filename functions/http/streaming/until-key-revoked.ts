import type { Caller } from '../../access/caller.ts'
import type { OpenRequest, OpenRequests } from '../../access/open-requests.ts'
import { keyRevoked } from '../middleware/authentication.ts'
import type { Pieces } from './sequential-bodies.ts'

/** Passes on the chunks of a file, and aborts within 10 s after the caller's key was revoked. */
export function whileKeyLasts(calls: Pick<OpenRequests, 'watch'>, caller: Caller, pieces: Pieces): Pieces {
  let call: OpenRequest | undefined
  return {
    async next() {
      call ??= calls.watch(caller)
      try {
        if (call.signal.aborted) {
          await pieces.return()
          throw keyRevoked()
        }
        const piece = await pieces.next()
        if (piece.done === true) await call.close()
        return piece
      } catch (error) {
        await call.close()
        throw error
      }
    },
    async return() {
      await call?.close()
      return pieces.return()
    },
  }
}
