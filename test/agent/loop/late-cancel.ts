import type { Ports } from '../../../functions/runtime/program.ts'
import { until } from '../../eventually.ts'

/**
 * Ports under which the first output is stored only after `cancel`, once the worker has seen that: the completion behind it is
 * whole by then, for `isDue` says when it was asked for.
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
