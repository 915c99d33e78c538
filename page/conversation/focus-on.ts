import type { Reveal } from '../list/reveal.ts'

/**
 * Three shares of the list's height. `MESSAGE_AT`: position of the message. `MARK_WITHIN`: maximum distance between the
 * message's top and its first marked word. `MARK_AT`: position of the word if the distance is greater.
 */
const MESSAGE_AT = 0.12
const MARK_WITHIN = 0.33
const MARK_AT = 0.3

/**
 * Focuses a message, or the line of a call, and returns the element to show. If the first marked word is too far below
 * the element's top, returns the word. `name`: the part of a call with the word, such as `Result`.
 */
export function focusOn(target: string, name: string): Reveal | undefined {
  const element = document.getElementById(target)
  if (element === null) return undefined
  const line = element.querySelector<HTMLElement>(':scope > summary')
  const focused = line ?? element
  focused.focus({ preventScroll: true })
  const mark = [
    ...element.querySelectorAll(`[data-name="${CSS.escape(name)}"] mark`),
    ...element.querySelectorAll('mark'),
  ][0]
  if (mark === undefined) return { element, at: MESSAGE_AT }
  // The mark may be inside a long value, which has its own scroll bar.
  mark.scrollIntoView({ block: 'center', inline: 'nearest' })
  const below = mark.getBoundingClientRect().top - element.getBoundingClientRect().top
  const height = element.closest('.scroller')?.clientHeight ?? innerHeight
  return below > height * MARK_WITHIN ? { element: mark, at: MARK_AT } : { element, at: MESSAGE_AT }
}
