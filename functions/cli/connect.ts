import { newKeySecret } from '../access/key-secret.ts'
import { createClient } from '../client/client.ts'
import type { Client } from '../client/client.ts'
import { readSettings } from '../runtime/settings/config.ts'

/** The program that a command uses. */
export interface ConnectionOptions {
  /** The address of a running program. If absent, the command uses the data folder of this machine. */
  readonly url?: string
  readonly key?: string
  /** The tenant for the data folder, if no key names one. */
  readonly tenant: string
  /**
   * Whether the program that is started on the data folder executes runs: those that the command follows, and
   * unfinished runs of other processes.
   */
  readonly takesWork?: boolean
}

/** Time after which a command exits, even if the program that it started is still executing tools. */
const LEFT_MS = 1_000

export interface Connection {
  readonly client: Client
  readonly url: string
  readonly key: string | undefined
  /** Stops the program that was started for this command. */
  close(): Promise<void>
}

/**
 * Connects to the program at `url`. Without `url`, starts the program on the data folder that `npm start` uses. That
 * program listens on a free port. If the person gives no key, the program accepts a new key that only this command
 * knows. So a person with access to the folder needs no key.
 */
async function connect({ url, key, tenant, takesWork = false }: ConnectionOptions): Promise<Connection> {
  if (url !== undefined) return { client: createClient({ url, key }), url, key, close: () => Promise.resolve() }
  const { startForCommand } = await import('../runtime/local/start-for-command.ts')
  const { closeOnSignals } = await import('../runtime/local/stop-signals.ts')
  const secret = key ?? newKeySecret()
  const access = key === undefined ? { access: { secret, tenant } } : {}
  const server = await startForCommand(readSettings(), { ...access, takesWork })
  // When the terminal closes, the runs that the command executes are handed off.
  let closing: Promise<void> | undefined
  const closeServer = (): Promise<void> => (closing ??= server.close())
  const restoreSignals = closeOnSignals(closeServer)
  const close = async (): Promise<void> => {
    await closeServer()
    restoreSignals()
    // The process exits after this time. Otherwise a tool that ignores its signal would keep the process alive, and
    // with it the lease of the run.
    setTimeout(() => process.exit(), LEFT_MS).unref()
  }
  return { client: createClient({ url: server.url, key: secret }), url: server.url, key: secret, close }
}

/** Runs `work` with a connection that is closed afterwards. */
export async function whileConnected<Result>(
  options: ConnectionOptions,
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const connection = await connect(options)
  try {
    return await work(connection)
  } finally {
    await connection.close()
  }
}
