import type { Ports } from '../../../functions/runtime/program.ts'
import { until } from '../../eventually.ts'

/**
 * Ports that cancel the run before they store an output. They wait until `isDue` reports that the next completion was
 * requested, and then call `cancel`. They store the output after the worker has read the cancel. By that time, the
 * completion has arrived.
 */
export const cancelledWhileStoring =
  (isDue: () => boolean, cancel: () => Promise<unknown>) =>
  (ports: Ports): Ports => {
    let [isCancelled, hasRead] = [false, false]
    return {
      ...ports,
      lease: {
        ...ports.lease,
        async readHeader(at) {
          const isAfter = isCancelled
          const seen = await ports.lease.readHeader(at)
          hasRead ||= isAfter
          return seen
        },
      },
      outputs: {
        ...ports.outputs,
        async put(...object) {
          await until(isDue)
          await cancel()
          isCancelled = true
          await until(() => hasRead)
          await ports.outputs.put(...object)
        },
      },
    }
  }
