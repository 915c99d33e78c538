import type { Caller } from '../../../../access/caller.ts'
import type { Json } from '../../../../domain/json.ts'
import { keyOf } from '../../../../domain/session.ts'
import type { Session } from '../../../../domain/session.ts'
import type { RouteDependencies } from '../../../dependencies.ts'
import { RequestError } from '../../../middleware/request-error.ts'
import { existing } from '../../../run-steps/open-session.ts'
import { refused } from '../../chat/chat-request.ts'
import type { PlacedItem } from '../../conversations/conversation-items.ts'
import { findItem, findItemsOfRun, placeOfItem } from '../../conversations/item-lookup.ts'
import { nameOfResponse } from '../response-name.ts'
import { inputItem } from '../response-schemas.ts'
import type { InputItem } from '../response-schemas.ts'

/** Limit of the references of one request. */
const MAX_REFERENCES = 500
/**
 * Limit of the referenced items of one request, in characters. A request that contains the items themselves has the
 * same limit.
 */
const MAX_CHARACTERS = 4_000_000
/** Number of runs and messages that are read concurrently. */
const AT_ONCE = 8

interface Reference {
  readonly id: string
  /** The path of the reference in the request. */
  readonly at: string
}

/**
 * Replaces each reference by its item. `named` finds the session that the request names. The request may then reference
 * only items of this session. Without a named session, an item is found by the Response that it belongs to. Rejects a
 * reference to an unknown item, or to an item that the caller may not see, with 404 and its path.
 */
export async function withReferences(
  dependencies: RouteDependencies,
  caller: Caller,
  items: readonly InputItem[],
  named: () => Promise<Session | undefined>,
): Promise<InputItem[]> {
  const wanted = items.flatMap((item, index): Reference[] =>
    item.type === 'item_reference' ? [{ id: item.id, at: `input[${index}]` }] : [],
  )
  const over = wanted[MAX_REFERENCES]
  if (over !== undefined) throw refused(over.at, `is one reference too many: a request may have ${MAX_REFERENCES}`)
  if (wanted.length === 0) return [...items]
  const session = await named()
  const found = await findAll(dependencies, caller, wanted, session)
  let characters = 0
  return items.map((item, index) => {
    if (item.type !== 'item_reference') return item
    const at = `input[${index}]`
    const one = found.get(item.id)
    if (one === undefined) throw notFound(item.id, at)
    // The item is in the log of the named session, so the item is not new content.
    if (session !== undefined && !isOfAssistant(one)) return IGNORED
    characters += JSON.stringify(one.item).length
    if (characters > MAX_CHARACTERS)
      throw refused(
        at,
        `exceeds the limit of ${MAX_CHARACTERS} characters for all referenced items: name their session`,
      )
    if (hasMedia(one))
      throw refused(at, 'is a message with images or files: name its session, or send the message itself')
    return inputItem.parse(one.item)
  })
}

/** Whether an item has images or files. An item contains them only as links, which cannot be sent to a model. */
const hasMedia = ({ item: { content } }: PlacedItem): boolean =>
  Array.isArray(content) && content.some((part: Json) => isMedia(part))

const isMedia = (part: Json): boolean =>
  typeof part === 'object' && part !== null && 'type' in part && MEDIA.has(part['type'])

const MEDIA: ReadonlySet<unknown> = new Set(['input_image', 'input_file'])

/** An item without content. */
const IGNORED: InputItem = { type: 'reasoning' }

/** Whether an item is the assistant's. Such an item separates the earlier messages of a request from the new ones. */
const isOfAssistant = ({ item }: PlacedItem): boolean =>
  item['role'] === 'assistant' || item['type'] === 'function_call'

function notFound(id: string, at: string): RequestError {
  const detail = `there is no item ${id.slice(0, 128)} that this request may reference`
  return new RequestError(404, 'item_not_found', detail, { errors: [{ path: `body.${at}`, message: 'names no item' }] })
}

/** Finds the referenced items, by id. Unknown ones are absent. */
async function findAll(
  dependencies: RouteDependencies,
  caller: Caller,
  wanted: readonly Reference[],
  named: Session | undefined,
): Promise<Map<string, PlacedItem>> {
  const { reader } = dependencies
  const byRun = new Map<string, Set<string>>()
  const whole = new Set<string>()
  for (const { id } of wanted) {
    const place = placeOfItem(id)
    if (place === undefined) continue
    if ('message' in place) whole.add(id)
    else byRun.set(place.run, (byRun.get(place.run) ?? new Set()).add(id))
  }
  const sessions = new Map<string, Session>()
  const ofRuns = await inChunks([...byRun], async ([run, ids]) => {
    const session = named ?? (await sessionOfRun(dependencies, caller, run))
    if (session === undefined) return []
    sessions.set(session.session, session)
    return [...(await findItemsOfRun(reader, keyOf(session), run, ids))]
  })
  // The id of an input names no run. Without a named session, it is looked up in the session of another reference.
  const [of = named] = sessions.values()
  const others = await inChunks(of === undefined ? [] : [...whole], async (id): Promise<[string, PlacedItem][]> => {
    const found = of && (await findItem(reader, keyOf(of), id))
    return found === undefined ? [] : [[id, found]]
  })
  return new Map([...ofRuns.flat(), ...others.flat()])
}

/** The session of a run that a stored Response has started. */
async function sessionOfRun(
  dependencies: RouteDependencies,
  caller: Caller,
  run: string,
): Promise<Session | undefined> {
  const found = await dependencies.names.find(caller.tenant, nameOfResponse(`resp_${run}`))
  return found && (await existing(dependencies, caller, found.session))
}

async function inChunks<Value, Result>(
  values: readonly Value[],
  work: (value: Value) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (let at = 0; at < values.length; at += AT_ONCE)
    results.push(...(await Promise.all(values.slice(at, at + AT_ONCE).map(work))))
  return results
}
