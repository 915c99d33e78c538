import type { Harness } from '../harness.ts'
import type { Sessions } from '../actors/sessions.ts'
import { observed } from './network.ts'
import type { SharedStore } from './stores.ts'
import type { Process } from './timeline.ts'
import { processNow } from './virtual-globals.ts'

interface Parts {
  readonly harness: Harness
  readonly store: SharedStore
  readonly sessions: Sessions
}

/**
 * Expires the leases of ended processes. A program on one machine does this when it starts. Sometimes, the file system
 * also reports the lock of a live process as free. In this case, only the generation protects the log.
 */
export function expireLeases(
  { harness, store, sessions }: Parts,
  starting: Process,
  ended: readonly string[],
  servers: readonly { readonly process: Process }[],
): void {
  const living = servers.map(({ process }) => process.name).filter((name) => name !== starting.name)
  harness.timeline.after(0, undefined, async () => {
    const free = harness.dice.chance('locks fail', 0.1) ? [...ended, ...living] : ended
    harness.note(`${starting.name} expires the leases of ${free.join(', ')}`)
    store.expireLeases?.(free, processNow(starting))
    await observed(harness, async () => {
      for (const { key } of sessions.all)
        await sessions.observe(starting, 'lease.expireLeases', [key], { value: undefined })
    })
  })
}
