import type { Reveal } from '../list/reveal.ts'

/** Parts of the list's height: where a message stands, how far below its top a mark is seen as well, and where else a mark stands. */
const MESSAGE_AT = 0.12
const MARK_WITHIN = 0.33
const MARK_AT = 0.3

/**
 * Gives the focus to a message, or to the line of a call, and returns what of it to show: its first marked word, if that would not
 * be seen with its beginning. `name`: the value of a call that the word is in, such as `Result`.
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
  // A long value scrolls by itself.
  mark.scrollIntoView({ block: 'center', inline: 'nearest' })
  const below = mark.getBoundingClientRect().top - element.getBoundingClientRect().top
  const height = element.closest('.scroller')?.clientHeight ?? innerHeight
  return below > height * MARK_WITHIN ? { element: mark, at: MARK_AT } : { element, at: MESSAGE_AT }
}
