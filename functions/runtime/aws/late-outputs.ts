import type { OutputStore } from '../../ports/output-store.ts'
import type { ClientSettings } from './clients.ts'

/**
 * Opens the outputs in this bucket. The client is loaded on first use, because most invocations of a function do not
 * use it.
 */
export function openOutputsLate(settings: ClientSettings & { readonly bucket: string }): OutputStore {
  let opened: Promise<OutputStore> | undefined
  const open = (): Promise<OutputStore> =>
    (opened ??= import('./outputs.ts').then(({ openOutputs }) => openOutputs(settings)))
  return {
    put: async (...object) => (await open()).put(...object),
    read: async (...object) => (await open()).read(...object),
    stat: async (...object) => (await open()).stat(...object),
    link: async (...object) => (await open()).link(...object),
    remove: async (...object) => (await open()).remove(...object),
    removeAll: async (key) => (await open()).removeAll(key),
  }
}
