import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readSettings } from '../functions/runtime/settings/config.ts'
import { startLocal } from '../functions/runtime/local/start.ts'
import type { Description } from './client-types.ts'

/** Returns the API's description from the running program. */
export async function describedApi(): Promise<Description> {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-build-'))
  const server = await startLocal(readSettings({ PORT: '0', TOOLTRAIL_DATA: folder, LOG_LEVEL: 'error' }))
  try {
    return (await (await fetch(`${server.url}/openapi.json`)).json()) as Description
  } finally {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
