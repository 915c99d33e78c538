import { isDeepStrictEqual } from 'node:util'
import type { z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { sha256 } from '../../../domain/hash.ts'
import { ImportRefused } from '../../../domain/messages/closed-message.ts'
import type { ClosedMessage } from '../../../domain/messages/closed-message.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { Appended, AppendOptions, ImportName } from '../../../domain/messages/imported.ts'
import { replacesTitle } from '../../../domain/session-title.ts'
import type { Session } from '../../../domain/session.ts'
import type { MessageImport } from '../../../log/import/message-import.ts'
import { createNativeImport } from '../../../log/import/native.ts'
import { createOpenAiImport } from '../../../log/import/openai.ts'
import { isSessionLine, readSessionLine, type ImportedAbout } from '../../../log/import/session-line.ts'
import type { AppEnv, RouteDependencies } from '../../dependencies.ts'
import { others } from '../../streaming/document-queue.ts'
import { isStreamed } from '../../middleware/request-body.ts'
import { RequestError } from '../../middleware/request-error.ts'
import { invalidRequest } from '../../middleware/validation.ts'
import { spoolLines } from './import-lines.ts'
import type { SpoolBudget } from './spool-budget.ts'
import type { ImportSchema, importQuery, newImport } from './schema.ts'

type Query = z.output<typeof importQuery>
type Body = z.output<typeof newImport>
type Result = z.input<typeof ImportSchema>

export interface ImportDependencies extends Pick<RouteDependencies, 'service' | 'sessions'> {
  readonly spool: SpoolBudget
}

/** Messages after which the event loop serves other requests. */
const AT_A_TIME = 500

const IMPORTS: { readonly [format in Body['format']]: () => MessageImport } = {
  native: createNativeImport,
  openai: createOpenAiImport,
}

/**
 * Imports the messages of a request into a session. All messages are validated before the first is stored, so an
 * invalid one rejects the whole import. A session line before the messages sets this session's metadata. It also sets
 * the title, if the present title may be replaced.
 */
export async function importInto(
  dependencies: ImportDependencies,
  session: Session,
  c: Context<AppEnv>,
  query: Query,
  body: Body,
): Promise<Result> {
  if (isStreamed(c.req)) return importLines(dependencies, session, c, query)
  if ((await c.req.text()) === '') throw new RequestError(400, 'malformed_body', 'this request needs a body')
  const [inQuery] = Object.keys(query)
  if (inQuery !== undefined) throw invalidRequest([{ path: `query.${inQuery}`, message: 'must be in the JSON body' }])
  const reader = IMPORTS[body.format]()
  const messages: ClosedMessage[] = []
  for (const [place, one] of body.messages.entries()) {
    messages.push(...read(reader, one, place))
    if (place % AT_A_TIME === 0) await others()
  }
  messages.push(...reader.end())
  const about = aboutOf(session, body.messages[0])
  const options = await optionsOf(c, 'body', body, async () => `${c.req.path}\n${await c.req.text()}`)
  const begin = describing(dependencies, session, about)
  return resultOf(body, await dependencies.service.importMessages(session, messages, { ...options, ...begin }))
}

async function importLines(
  dependencies: ImportDependencies,
  session: Session,
  c: Context<AppEnv>,
  query: Query,
): Promise<Result> {
  const { service, spool } = dependencies
  const create = IMPORTS[query.format ?? 'native']
  const { body } = c.req.raw
  if (body === null) throw new RequestError(400, 'malformed_body', 'this request needs a body')
  const spooled = await spoolLines(body, spool.enter(session.tenant))
  try {
    for await (const message of closed(create(), spooled.values())) void message
    const about = aboutOf(session, (await spooled.values().next()).value)
    const options = await optionsOf(
      c,
      'query',
      query,
      async () => `${c.req.path}?${JSON.stringify(query)}\n${spooled.sha256}`,
    )
    const begin = describing(dependencies, session, about)
    const messages = closed(create(), spooled.values())
    return resultOf(query, await service.importMessages(session, messages, { ...options, ...begin }))
  } finally {
    await spooled.remove()
  }
}

/**
 * Returns options that apply a session line's changes before the first message is stored. So the imported inputs create
 * no title if the line has one. A rejected import changes nothing.
 */
const describing = (
  { sessions }: ImportDependencies,
  session: Session,
  about: ImportedAbout | undefined,
): Pick<AppendOptions, 'begin'> => (about === undefined ? {} : { begin: () => sessions.describe(session, about) })

async function* closed(reader: MessageImport, values: AsyncIterable<unknown>): AsyncGenerator<ClosedMessage> {
  let place = 0
  for await (const value of values) {
    const isSession = place === 0 && isSessionLine(value)
    yield* isSession ? [] : read(reader, value, place++)
  }
  yield* reader.end()
}

/** The changes in a session line before the messages; undefined if there is no such line, or it changes nothing. */
function aboutOf(session: Session, first: unknown): ImportedAbout | undefined {
  if (!isSessionLine(first)) return undefined
  const about = refusing(() => readSessionLine(first, session.metadata, 'body.session'))
  const { title, metadata } = about
  const isSame = title?.text === session.title && title?.source === session.titleSource
  const isNewTitle = title !== undefined && !isSame && replacesTitle(title.source, session.titleSource)
  return isNewTitle || !isDeepStrictEqual({ ...session.metadata, ...metadata }, session.metadata) ? about : undefined
}

const read = (reader: MessageImport, value: unknown, place: number): readonly ClosedMessage[] =>
  refusing(() => reader.take(value, `body.messages[${place}]`))

/** Converts an import's validation error to an error of the request. */
function refusing<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof ImportRefused)) throw error
    const [first] = error.errors
    throw new RequestError(
      422,
      'invalid_import',
      `nothing was imported: ${first?.path} ${first?.message}`.slice(0, 2_048),
      {
        errors: error.errors.map(({ path, message }) => ({ path: path.slice(0, 300), message: message.slice(0, 300) })),
      },
    )
  }
}

async function optionsOf(
  c: Context<AppEnv>,
  place: 'body' | 'query',
  { source, from }: Pick<Body, 'source' | 'from'>,
  content: () => Promise<string>,
): Promise<{ readonly name?: ImportName; readonly from?: number; readonly source?: string }> {
  const key = c.req.header('idempotency-key')
  if (from !== undefined && source === undefined)
    throw invalidRequest([{ path: `${place}.from`, message: 'needs a `source`' }])
  if (from !== undefined && key !== undefined)
    throw invalidRequest([{ path: 'header.idempotency-key', message: 'cannot be used with `from`' }])
  if (from !== undefined && source !== undefined)
    return { from, source, name: { keyHash: `source-${sha256(source)}`, bodyHash: 'import', forGood: true } }
  if (key === undefined) return definedFields({ source })
  const name = { keyHash: sha256(key), bodyHash: sha256(await content()), forGood: false }
  return { name, ...definedFields({ source }) }
}

function resultOf({ from }: Pick<Body, 'from'>, { messages, first, last, progress }: Appended): Result {
  const object = 'import' as const
  if (from !== undefined)
    return { object, messages, first: first ?? null, last: last ?? null, total: progress?.messages ?? 0 }
  const all = progress ?? { messages, first, last }
  return { object, messages: all.messages, first: all.first ?? null, last: all.last ?? null }
}
