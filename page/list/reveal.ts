/** An element to show. `at`: its distance from the top of its list, as a share of the list's height. */
export interface Reveal {
  readonly element: Element
  readonly at: number
}

/**
 * Scrolls a list so that an element is at the position `at`. If the list ends too soon below the element, `slack`, the
 * list's last child, grows by the missing space.
 */
export function reveal(list: HTMLElement, slack: HTMLElement, { element, at }: Reveal): void {
  const below = element.getBoundingClientRect().top - list.getBoundingClientRect().top
  const wanted = Math.max(0, list.scrollTop + below - list.clientHeight * at)
  slack.style.height = `${Math.max(0, wanted + list.clientHeight - slack.offsetTop)}px`
  list.scrollTop = wanted
}

/** Removes extra space of `slack` that is no longer visible, because the list has grown or was scrolled up. */
export function shrink(list: HTMLElement, slack: HTMLElement): void {
  const height = slack.offsetHeight
  if (height === 0) return
  const needed = list.scrollTop + list.clientHeight - slack.offsetTop
  if (needed < height) slack.style.height = `${Math.max(0, needed)}px`
}
