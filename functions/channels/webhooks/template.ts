import { isExactNumber } from '../../domain/json.ts'
import type { Json } from '../../domain/json.ts'
import { jsonText } from '../../log/json/well-formed.ts'

/** Matches `{{/json/pointer}}` and `{{header:name}}`. */
const PLACE = /\{\{(\/[^{}]*|header:[A-Za-z0-9-]+)\}\}/g
const ANY = /\{\{[^{}]*\}\}/g
const HEADER = 'header:'

export interface Delivered {
  readonly body: Json
  readonly headers: Headers
}

/** Why a template is invalid; undefined if it is valid. */
export function templateFault(template: string): string | undefined {
  const wrong = template.replaceAll(PLACE, '').match(ANY)?.[0]
  if (wrong !== undefined) return `${wrong} is neither {{/a/JSON/pointer}} nor {{header:name}}`
  const pointer = [...template.matchAll(PLACE)].find(([, place = '']) => place.startsWith('/') && !isPointer(place))
  return pointer && `${pointer[0]} is not a JSON Pointer (RFC 6901): a ~ must be followed by 0 or 1`
}

/** Whether the text is a JSON Pointer (RFC 6901). */
export const isPointer = (text: string): boolean => /^(?:\/(?:[^~/]|~[01])*)*$/.test(text)

/** The value at a pointer; undefined if there is none. Reads own properties only. */
export function valueAt(body: Json, pointer: string): Json | undefined {
  let value: Json | undefined = body
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || isExactNumber(value)) return undefined
    if (!Object.hasOwn(value, name)) return undefined
    // In an array, names such as `length` and indexes such as `01` have no value.
    if (Array.isArray(value) && !/^(?:0|[1-9][0-9]*)$/.test(name)) return undefined
    value = (value as { readonly [key: string]: Json | undefined })[name]
  }
  return value
}

/** The JSON Pointers in a template, in order. */
export const pointersOf = (template: string): string[] =>
  [...template.matchAll(PLACE)].map(([, place = '']) => place).filter((place) => place.startsWith('/'))

export interface Filled {
  readonly text: string
  /** Placeholders without a value. Null and an empty text do not count as values. */
  readonly missing: readonly string[]
}

/** Fills the placeholders of a template from a delivery. Placeholders within an inserted text are not filled. */
export function fillTemplate(template: string, delivered: Delivered): Filled {
  const missing: string[] = []
  const text = template.replaceAll(PLACE, (whole, place: string) => {
    const filled = textOf(place, delivered)
    if (filled === '') missing.push(whole)
    return filled
  })
  return { text, missing }
}

function textOf(place: string, { body, headers }: Delivered): string {
  if (place.startsWith(HEADER)) return headers.get(place.slice(HEADER.length)) ?? ''
  const value = valueAt(body, place)
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : jsonText(value)
}
