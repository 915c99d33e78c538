import type { Ports } from '../../../functions/runtime/program.ts'
import { until } from '../../eventually.ts'

/**
 * Ports that cancel the run before they store an output. They wait for `isDue`, call `cancel`, and store the output once the
 * worker has read the cancel. `isDue` returns whether the following completion was requested. That completion is complete before
 * the output is stored.
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
