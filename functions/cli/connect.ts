import { newKeySecret } from '../access/key-secret.ts'
import { createClient } from '../client/client.ts'
import type { Client } from '../client/client.ts'
import { readSettings } from '../runtime/settings/config.ts'

/** Where a command finds the sessions. */
export interface ConnectionOptions {
  /** Address of a program that runs; absent: the data folder of this machine. */
  readonly url?: string
  readonly key?: string
  /** Of the data folder, where no key says so. */
  readonly tenant: string
  /** Whether the command has the runs executed that it follows: on the data folder also those that others left. */
  readonly takesWork?: boolean
}

/** Milliseconds after which a command ends whose work is done, whatever the program that it brought still executes. */
const LEFT_MS = 1_000

export interface Connection {
  readonly client: Client
  readonly url: string
  readonly key: string | undefined
  /** Ends a program that was started for this command. */
  close(): Promise<void>
}

/**
 * Connects to the program at `url`. Without one the command brings the program itself, on the folder that `npm start` uses too
 * and on a free port that only it knows the key of: whoever may read the folder needs no key. Whoever gives one acts as its
 * holder.
 */
async function connect({ url, key, tenant, takesWork = false }: ConnectionOptions): Promise<Connection> {
  if (url !== undefined) return { client: createClient({ url, key }), url, key, close: () => Promise.resolve() }
  const { startForCommand } = await import('../runtime/local/start-for-command.ts')
  const { closeOnSignals } = await import('../runtime/local/stop-signals.ts')
  const secret = key ?? newKeySecret()
  const access = key === undefined ? { access: { secret, tenant } } : {}
  const server = await startForCommand(readSettings(), { ...access, takesWork })
  // The runs that the command executes are handed off when its terminal closes.
  let closing: Promise<void> | undefined
  const closeServer = (): Promise<void> => (closing ??= server.close())
  const restoreSignals = closeOnSignals(closeServer)
  const close = async (): Promise<void> => {
    await closeServer()
    restoreSignals()
    // A tool that does not heed its signal would keep the process, and the process the lease of its run.
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
