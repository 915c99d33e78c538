import { access, constants, mkdir, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * Folder of downloaded engines, outside the repository: `$XDG_CACHE_HOME/tooltrail`, or `~/.cache/tooltrail`. Root uses
 * `/var/tmp/tooltrail` instead, because its OpenSearch runs as another user, who cannot enter root's home.
 */
export function cacheFolder(): string {
  const given = process.env['XDG_CACHE_HOME']
  if (given !== undefined && given !== '') return join(given, 'tooltrail')
  return process.getuid?.() === 0 ? '/var/tmp/tooltrail' : join(homedir(), '.cache', 'tooltrail')
}

const isReadable = (folder: string): Promise<boolean> =>
  access(folder, constants.R_OK).then(
    () => true,
    () => false,
  )

/**
 * Returns the folder of one version of an engine. `download` fills the folder once; a failed download leaves nothing
 * behind. If several processes download at once, all use the folder that was filled first.
 */
export async function cached(name: string, download: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(cacheFolder(), name)
  if (await isReadable(folder)) return folder
  const unfinished = `${folder}.${crypto.randomUUID()}`
  await mkdir(unfinished, { recursive: true })
  try {
    await download(unfinished)
    await rename(unfinished, folder).catch(async (error: unknown) => {
      if (!(await isReadable(folder))) throw error
    })
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
  return folder
}
