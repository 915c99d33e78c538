import type { Session, SessionKey } from '../../../../domain/session.ts'
import { withPlaceNames } from '../../../../log/imported-place.ts'
import { metadataText } from '../../../../domain/metadata-text.ts'
import { numberAt, textAt, toItem, type Item } from '../../attributes.ts'
import { is } from '../../expressions.ts'
import { detailsKey, hashOf } from '../../keys.ts'
import type { Action } from '../../table.ts'
import type { TextFields } from '../messages/bodies.ts'
import type { Listed } from './lists/list-entries.ts'
import type { SessionRows } from './session-rows.ts'
import { readJson } from '../../../../log/json/exact-json.ts'

/** The fields of a session that are stored as JSON in its details. */
export type Details = Pick<
  Session,
  | 'agent'
  | 'owner'
  | 'user'
  | 'title'
  | 'titleSource'
  | 'instructions'
  | 'metadata'
  | 'ownerBound'
  | 'byChannel'
  | 'forkedFrom'
  | 'createdAt'
>

/** Id of the object in the output store that has details too large for their item. */
const DETAILS_ID = '0'.repeat(26)

/** Returns the attributes of details. Details that do not fit their item are stored in the output store. */
export async function storeDetails({ bodies }: SessionRows, key: SessionKey, details: Details): Promise<TextFields> {
  const [body = {}] = await bodies.store(key, [{ id: DETAILS_ID, attribute: 'body', text: JSON.stringify(details) }])
  return body
}

/** Returns the action that stores the details of a new session. */
export const putDetails = (key: SessionKey, body: TextFields): Action => ({
  put: toItem({ ...detailsKey(key), ...body, rev: 1 }),
})

/**
 * Returns the details of an item. Earlier versions stored a title only if its source was `given`, and did not store the
 * source.
 */
export async function detailsOf({ bodies }: SessionRows, key: SessionKey, item: Item | undefined): Promise<Details> {
  const body = item && (await bodies.read(key, item, 'body'))
  if (body === undefined) throw new Error(`session ${key.session} has no details`)
  const details = readJson(body) as Details
  return details.title === undefined ? details : { ...details, titleSource: details.titleSource ?? 'given' }
}

/** Returns the details with a title. Details without a title get the title of the opening, if there is one. */
export function titledDetails(details: Details, item: Item | undefined): Details {
  const title = item && textAt(item, 'opening_title')
  return details.title !== undefined || title === undefined ? details : { ...details, title, titleSource: 'input' }
}

/**
 * Returns details whose metadata has the current names for an import's origin. Returns the same object if it already
 * has these names.
 */
export function placedDetails(details: Details): Details {
  const metadata = withPlaceNames(details.metadata)
  return metadata === details.metadata ? details : { ...details, metadata }
}

/** Returns the action that replaces the details of an item. */
export function replaceDetails(key: SessionKey, item: Item | undefined, body: TextFields): Action {
  const rev = (item && numberAt(item, 'rev')) ?? 0
  const unused = ['body', 'body_object'].filter((name) => !(name in body))
  const change = { set: { ...body, rev: rev + 1 }, remove: unused }
  return { update: detailsKey(key), when: is('rev', rev), change }
}

/** Returns the fields by which lists find a session with these details. */
export function listedAs({ agent, owner, metadata }: Details): Pick<Listed, 'agent' | 'owner' | 'folder' | 'source'> {
  const hash = (text: string | undefined): string | undefined => (text === undefined ? undefined : hashOf(text))
  return {
    agent: hashOf(agent),
    owner: hash(owner),
    folder: hash(metadataText(metadata['folder'])),
    source: hash(metadataText(metadata['source'])),
  }
}
