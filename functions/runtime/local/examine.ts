import { existsSync, mkdtempSync, rmdirSync, statfsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { newKeySecret } from '../../access/key-secret.ts'
import { checkModel } from '../../adapters/models/models.ts'
import { examineDatabase } from '../../adapters/sqlite/examine.ts'
import type { Settings } from '../settings/config.ts'
import { startForCommand } from './start-for-command.ts'
import { DATABASE } from './private-data.ts'

/** The result of one check. */
export interface Finding {
  readonly name: string
  readonly state: 'good' | 'warning' | 'bad'
  /** The observed state. If the check failed, also the next step. */
  readonly detail: string
}

const MEGABYTE = 1_048_576
const LITTLE_SPACE = 1_024 * MEGABYTE

/**
 * Checks everything that the program needs on this machine. Starts the program briefly to do so, which creates the data
 * folder.
 */
export async function* examineMachine(settings: Settings): AsyncGenerator<Finding> {
  yield nodeFinding(process.versions.node)
  yield* folderFindings(settings.dataFolder)
  yield modelFinding(settings)
  yield* startFindings(settings)
  yield await runningFinding(settings)
}

function nodeFinding(version: string): Finding {
  // The minimum version equals that of `scripts/require-node.mjs`.
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isNew = major > 24 || (major === 24 && minor >= 7)
  return {
    name: 'node',
    state: isNew ? 'good' : 'bad',
    detail: isNew ? version : `${version}: install Node 24.7 or newer`,
  }
}

function* folderFindings(folder: string): Generator<Finding> {
  const isThere = existsSync(folder)
  const refusal = refusalOf(isThere ? folder : existingAbove(resolve(folder)))
  if (refusal !== undefined) {
    const what = `${folder} cannot be ${isThere ? 'written to' : 'made'}: ${refusal}`
    yield { name: 'data folder', state: 'bad', detail: `${what}; allow it, or set TOOLTRAIL_DATA` }
    return
  }
  if (!isThere) {
    yield { name: 'data folder', state: 'good', detail: `${folder} does not exist yet; the first start makes it` }
    return
  }
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  const space = `${folder}, ${Math.round(free / MEGABYTE)} MB free`
  if (free < LITTLE_SPACE) yield { name: 'data folder', state: 'warning', detail: `${space}: make room` }
  else yield { name: 'data folder', state: 'good', detail: space }
  const path = join(folder, DATABASE)
  if (existsSync(path)) yield databaseFinding(path)
}

/** Returns the nearest ancestor folder that exists; missing folders are created in it. */
const existingAbove = (path: string): string => (existsSync(path) ? path : existingAbove(dirname(path)))

/**
 * Returns the reason why nothing can be created in a folder; undefined if the folder is writable. The function tries to
 * create a folder, because a disk may be read-only even if the permissions allow writing.
 */
function refusalOf(folder: string): string | undefined {
  try {
    rmdirSync(mkdtempSync(join(folder, 'doctor-')))
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

function databaseFinding(path: string): Finding {
  const name = 'database'
  try {
    const { bytes, damage, unindexed } = examineDatabase(path)
    if (damage.length > 0)
      return { name, state: 'bad', detail: `${path} is damaged (${damage.join('; ')}): put a backup in its place` }
    const size = `${(bytes / MEGABYTE).toFixed(1)} MB`
    const rest = unindexed === 0 ? '' : `, ${unindexed} messages are indexed before the next search`
    return { name, state: 'good', detail: `${size}, sound${rest}` }
  } catch (error) {
    return { name, state: 'bad', detail: `${path} cannot be read: ${(error as Error).message}` }
  }
}

function modelFinding({ model, modelSettings }: Settings): Finding {
  const name = 'model'
  if (model.startsWith('demo/'))
    return {
      name,
      state: 'warning',
      detail: `${model} is no real model: set ANTHROPIC_API_KEY, OPENAI_API_KEY or MODEL`,
    }
  try {
    checkModel(model, modelSettings)
    return { name, state: 'good', detail: model }
  } catch (error) {
    return { name, state: 'bad', detail: `${model}: ${(error as Error).message}` }
  }
}

/** Starts the program, which checks agents, tools and all other settings. Names tools that no agent lists. */
async function* startFindings(settings: Settings): AsyncGenerator<Finding> {
  try {
    const server = await startForCommand(settings, {
      access: { secret: newKeySecret(), tenant: 'default' },
      takesWork: false,
    })
    await server.close()
    yield { name: 'settings', state: 'good', detail: 'the program starts with them' }
    for (const detail of server.unlistedTools) yield { name: 'tools', state: 'good', detail }
  } catch (error) {
    yield { name: 'settings', state: 'bad', detail: (error as Error).message }
  }
}

async function runningFinding({ host, port }: Settings): Promise<Finding> {
  const name = 'program'
  const url = `http://${host}:${port}`
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2_000) })
    const { status, version } = (await response.json()) as { status?: string; version?: string }
    if (version === undefined) return { name, state: 'warning', detail: `${url} belongs to another program: set PORT` }
    return { name, state: status === 'ok' ? 'good' : 'bad', detail: `${version} listens on ${url}, ${status}` }
  } catch {
    return { name, state: 'good', detail: `does not run on ${url}; start it: tooltrail start` }
  }
}
