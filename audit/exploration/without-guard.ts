import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { DeliveryCode } from '../../test/contracts/schedules/deliveries/world.ts'
import type { SqliteModules } from '../../test/adapters/sqlite/engine.ts'
import type { Guard } from './guards.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const MODULES: { readonly [name in keyof SqliteModules]: string } = {
  database: 'database.ts',
  sessions: 'log/sessions/session-store.ts',
  inbox: 'log/runs/run-inbox.ts',
  lease: 'log/runs/run-lease.ts',
  log: 'log/runs/run-log.ts',
  reader: 'log/messages/log-reader.ts',
  imports: 'log/messages/log-import.ts',
  janitor: 'log/sessions/session-janitor.ts',
  deletion: 'log/sessions/session-deletion.ts',
  outbox: 'log/deliveries/outbox.ts',
  feedback: 'log/messages/message-feedback.ts',
  received: 'received.ts',
  names: 'session-names.ts',
  keys: 'key-store.ts',
  usage: 'log/usage/usage-ledger.ts',
}

/**
 * Returns the changed source texts without the guard, by their paths below the adapter's `log/`. Throws if a text to
 * replace does not occur exactly once.
 */
export async function textsWithout({ name, edits }: Guard): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>()
  for (const { file, from, to } of edits) {
    const text = texts.get(file) ?? (await readFile(join(ROOT, 'functions/adapters/sqlite/log', file), 'utf8'))
    const parts = text.split(from)
    if (parts.length !== 2) throw new Error(`guard "${name}": its text stands ${parts.length - 1} times in ${file}`)
    texts.set(file, parts.join(to))
  }
  return texts
}

interface Loaded {
  readonly modules: SqliteModules
  readonly delivery: DeliveryCode
  remove(): Promise<void>
}

/**
 * Loads a copy of the SQLite adapter and of the delivery code in which one guard is missing. All other modules are the
 * program's own. Call `remove` afterwards.
 */
export async function loadWithout(guard: Guard): Promise<Loaded> {
  const texts = await textsWithout(guard)
  const folder = await mkdtemp(join(tmpdir(), 'tooltrail-guard-'))
  const adapter = join(folder, 'functions/adapters/sqlite')
  await cp(join(ROOT, 'functions/adapters/sqlite'), adapter, { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  await symlink(join(ROOT, 'package.json'), join(folder, 'package.json'))
  for (const name of await readdir(join(ROOT, 'functions')))
    if (name === 'delivery')
      await cp(join(ROOT, 'functions', name), join(folder, 'functions', name), { recursive: true })
    else if (name !== 'adapters' && name !== 'domain')
      await symlink(join(ROOT, 'functions', name), join(folder, 'functions', name))
  await linkFiles(join(ROOT, 'functions/domain'), join(folder, 'functions/domain'))
  for (const [file, text] of texts) {
    // The link is removed before the write, because a write through the link would change the program's own file.
    await rm(join(adapter, 'log', file))
    await writeFile(join(adapter, 'log', file), text)
  }
  const load = async (file: string): Promise<unknown> => import(pathToFileURL(join(adapter, file)).href)
  const deliver = await Promise.all(['driver.ts', 'due-deliveries.ts'].map((file) => load(`../../delivery/${file}`)))
  const loaded = await Promise.all(
    Object.entries(MODULES).map(async ([name, file]) => [name, await load(file)] as const),
  )
  return {
    // The modules that `engine.ts` imports statically, loaded from the copy without the guard.
    modules: Object.fromEntries(loaded) as unknown as SqliteModules,
    delivery: Object.assign({}, ...deliver) as DeliveryCode,
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Links each file of a folder. An unchanged file is then the same module as in the program. */
async function linkFiles(from: string, to: string): Promise<void> {
  await mkdir(to)
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    await (entry.isDirectory() ? linkFiles(source, target) : symlink(source, target))
  }
}
