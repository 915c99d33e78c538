import { definedFields } from '../../domain/defined-fields.ts'
import type { Delivery, NewDelivery } from '../../domain/delivery.ts'
import type { JsonObject } from '../../domain/json.ts'

/** The kind of a delivery that is a callback. */
export const CALLBACK = 'callback'

/** One request that was sent, or could not be. */
export interface Attempt {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly status?: number
  readonly error?: string
}

export interface CallbackTarget {
  /** Of `callbacks` in `agents.json`; `webhook:<name>` for a webhook's own. */
  readonly name: string
  /** Where the request that started the run asked it to go. Left out: where the settings say. */
  readonly url?: string
  /** Why that is never tried. */
  readonly refused?: string
}

export interface CallbackState {
  /** Pauses of the run that have callbacks of their own. */
  readonly pauses?: number
  /** The body, fixed for all attempts: here, or the name of an object in the output store. */
  readonly body?: { readonly text: string } | { readonly object: string }
  readonly attempts?: readonly Attempt[]
  /** Attempts since the callback was made, or was last asked for by hand. */
  readonly tries?: number
}

/** Characters of an address: a row has no room for any length. */
const MAX_URL_CHARACTERS = 2_048
/** What is kept of the attempts. */
const MAX_ATTEMPTS = 50

// This folder alone writes targets and states of its kind.
export const targetOf = ({ target }: Delivery): CallbackTarget => target as unknown as CallbackTarget
export const stateOf = ({ state }: Pick<Delivery, 'state'>): CallbackState => state as CallbackState
export const asJson = (value: CallbackState | CallbackTarget): JsonObject => value as unknown as JsonObject

/** The receiver that an address belongs to, whatever its path says. */
export const originOf = (url: string): string => URL.parse(url)?.origin ?? url

/** What callbacks to one receiver have in common: the origin of their address, or the name in the settings. */
export function destinationOf(target: JsonObject): string {
  const { name, url } = target as unknown as CallbackTarget
  return url === undefined ? name : originOf(url)
}

/** The state with one attempt more. */
export function withAttempt(state: CallbackState, last: Attempt): CallbackState {
  return { ...state, attempts: [...(state.attempts ?? []), last].slice(-MAX_ATTEMPTS) }
}

/** What a run owes to the callback of this name. `url`: where its request asked it to go; one that is too long shows as refused. */
export function callbackDelivery(name: string, url?: string): NewDelivery {
  if (url !== undefined && url.length > MAX_URL_CHARACTERS)
    return {
      kind: CALLBACK,
      target: asJson({ name, refused: `the address has more than ${MAX_URL_CHARACTERS} characters` }),
    }
  return { kind: CALLBACK, target: asJson({ name, ...definedFields({ url }) }) }
}
