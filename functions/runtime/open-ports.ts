import type { Settings } from './config.ts'
import type { OpenPorts } from './program.ts'

/** The ports that the settings choose. Either backend's packages are loaded only when used. */
export async function openPorts(settings: Settings): Promise<OpenPorts> {
  const { aws } = settings
  if (aws === undefined) return (await import('./local-ports.ts')).openLocalPorts(settings)
  return (await import('./aws.ts')).openAwsPorts({ ...settings, aws })
}
