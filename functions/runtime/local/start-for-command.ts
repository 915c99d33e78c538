import { NO_CAPS } from '../../access/rates.ts'
import { hashKeySecret } from '../../access/key-secret.ts'
import type { ApiKey } from '../../domain/keys/api-key.ts'
import type { KeyStore } from '../../ports/key-store.ts'
import type { Settings } from '../settings/config.ts'
import { openPorts } from './open-ports.ts'
import { startLocal, type LocalServer } from './start.ts'

interface CommandAccess {
  /** The only accepted key. */
  readonly secret: string
  readonly tenant: string
}

interface ForCommand {
  /** If absent, the program accepts the keys of the data folder, as the main program does. */
  readonly access?: CommandAccess
  /** Whether runs that the command follows are executed here. All other runs are left to other processes. */
  readonly takesWork: boolean
}

/**
 * Starts the program for one command, on a free port of this machine. The program logs errors only. With `access`, the
 * program accepts only the secret in `access`, and sets no limits for it.
 */
export async function startForCommand(settings: Settings, { access, ...command }: ForCommand): Promise<LocalServer> {
  const takesWork = command.takesWork ? 'followed' : 'none'
  const own: Settings = { ...settings, host: '127.0.0.1', port: 0, logLevel: 'error' }
  if (access === undefined) return startLocal(own, { takesWork })
  const free = { ...own, caps: NO_CAPS }
  const ports = await openPorts(free)
  return startLocal(free, { takesWork, ports: { ...ports, keys: onlyKey(ports.keys, access, ports.clock.now()) } })
}

function onlyKey(keys: KeyStore, { secret, tenant }: CommandAccess, now: number): KeyStore {
  const hash = hashKeySecret(secret)
  const key: ApiKey = { id: 'command-line', tenant, scopes: ['admin'], caps: {}, createdAt: now }
  return {
    ...keys,
    find: (given) => Promise.resolve(given === hash ? key : undefined),
    list: () => Promise.resolve([key]),
    any: () => Promise.resolve(true),
    take: () => Promise.resolve(0),
    used: () => Promise.resolve(),
  }
}
