import type { Ports } from '../../../functions/runtime/program.ts'
import { until } from '../../eventually.ts'

/**
 * Ports that store the first output after `cancel`, once the worker has read the cancel. By then, the following
 * completion is complete: `isDue` returns whether it was requested.
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
