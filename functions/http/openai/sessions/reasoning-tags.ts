const TAG = /<(\/?)(think|thinking)>/g

/**
 * Removes the reasoning that models write in tags. Takes linear time. A closing tag without an opening one removes the
 * text before it, because the opening tag may be part of the model's prompt. An opening tag without a closing one
 * removes everything if it begins the text; elsewhere it is kept as text.
 */
export function withoutReasoning(text: string): string {
  const tags = [...text.matchAll(TAG)].map(({ 0: { length }, 1: slash, 2: name = '', index }) => {
    return { name, isClosing: slash === '/', from: index, to: index + length }
  })
  const lastEnd = new Map(tags.flatMap(({ name, isClosing, from }) => (isClosing ? [[name, from] as const] : [])))
  const kept: string[] = []
  let keptTo = 0
  /** The name of the open block. */
  let block: string | undefined
  for (const { name, isClosing, from, to } of tags) {
    if (block !== undefined) {
      if (!isClosing || name !== block) continue
      block = undefined
    } else if (isClosing) kept.length = 0
    else if ((lastEnd.get(name) ?? -1) > from) {
      kept.push(text.slice(keptTo, from))
      block = name
    } else if (from === 0) return ''
    else continue
    keptTo = to
  }
  return [...kept, text.slice(keptTo)].join('')
}
