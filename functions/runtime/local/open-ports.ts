import type { Clock } from '../../ports/clock.ts'
import type { Settings } from '../settings/config.ts'
import type { OpenPorts } from '../program.ts'

/**
 * Opens the ports that the settings select. Default of `clock`: the system clock. Loads only the packages of the
 * selected backend.
 */
export async function openPorts(settings: Settings, clock?: Clock): Promise<OpenPorts> {
  const { aws } = settings
  if (aws === undefined) return (await import('./ports.ts')).openLocalPorts(settings, clock)
  return (await import('../aws/ports.ts')).openAwsPorts({ ...settings, aws }, clock)
}
