import type { Clock } from '../../ports/clock.ts'
import type { Settings } from '../settings/config.ts'
import type { OpenPorts } from '../program.ts'

/** The ports that the settings select, on the machine's clock by default. Loads only that backend's packages. */
export async function openPorts(settings: Settings, clock?: Clock): Promise<OpenPorts> {
  const { aws } = settings
  if (aws === undefined) return (await import('./ports.ts')).openLocalPorts(settings, clock)
  return (await import('../aws/ports.ts')).openAwsPorts({ ...settings, aws }, clock)
}
