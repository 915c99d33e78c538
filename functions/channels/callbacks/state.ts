import { definedFields } from '../../domain/defined-fields.ts'
import type { Delivery, NewDelivery } from '../../domain/delivery.ts'
import type { JsonObject } from '../../domain/json.ts'

/** The kind of a delivery that is a callback. */
export const CALLBACK = 'callback'

/** One attempt to send a callback, whether the request was sent or not. */
export interface Attempt {
  /** Time of the attempt, in milliseconds since 1970. */
  readonly at: number
  readonly status?: number
  readonly error?: string
}

export interface CallbackTarget {
  /** The name in `callbacks` of `agents.json`, or `webhook:<name>` for a webhook's own callback. */
  readonly name: string
  /** The address from the request that started the run. If undefined, the settings give the address. */
  readonly url?: string
  /** The reason why the callback was refused; such a callback is never sent. */
  readonly refused?: string
}

export interface CallbackState {
  /** Number of the run's pauses that have callbacks. */
  readonly pauses?: number
  /** The body, fixed for all attempts: its text, or the name of an object in the output store. */
  readonly body?: { readonly text: string } | { readonly object: string }
  readonly attempts?: readonly Attempt[]
  /** Number of attempts since the callback was created, or since it was last retried by hand. */
  readonly tries?: number
}

/** Limit of an address, in characters, because a row's size is limited. */
const MAX_URL_CHARACTERS = 2_048
/** Limit of the attempts that the state keeps. */
const MAX_ATTEMPTS = 50

// The casts are safe, because only this folder writes targets and states of its kind.
export const targetOf = ({ target }: Delivery): CallbackTarget => target as unknown as CallbackTarget
export const stateOf = ({ state }: Pick<Delivery, 'state'>): CallbackState => state as CallbackState
export const asJson = (value: CallbackState | CallbackTarget): JsonObject => value as unknown as JsonObject

/** The origin of an address, which identifies its receiver. The path is ignored. */
export const originOf = (url: string): string => URL.parse(url)?.origin ?? url

/** The receiver of a callback: the origin of its address, or the name in the settings. */
export function destinationOf(target: JsonObject): string {
  const { name, url } = target as unknown as CallbackTarget
  return url === undefined ? name : originOf(url)
}

/**
 * Whether the settings contain this callback. True for a refused callback, which is never sent and needs no settings.
 */
export function isSendable(target: JsonObject, settings: ReadonlyMap<string, unknown>): boolean {
  const { name, refused } = target as unknown as CallbackTarget
  return refused !== undefined || settings.has(name)
}

/** The state with one more attempt. */
export function withAttempt(state: CallbackState, last: Attempt): CallbackState {
  return { ...state, attempts: [...(state.attempts ?? []), last].slice(-MAX_ATTEMPTS) }
}

/**
 * Creates a delivery for the callback with this name. `url`: the address from the request. If the address is too long,
 * the delivery is stored as refused.
 */
export function callbackDelivery(name: string, url?: string): NewDelivery {
  if (url !== undefined && url.length > MAX_URL_CHARACTERS)
    return {
      kind: CALLBACK,
      target: asJson({ name, refused: `the address has more than ${MAX_URL_CHARACTERS} characters` }),
    }
  return { kind: CALLBACK, target: asJson({ name, ...definedFields({ url }) }) }
}
