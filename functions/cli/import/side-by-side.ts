/** Maximum number of items in progress. */
const AT_ONCE = 4

/**
 * Processes items concurrently and starts them in order. The sum of the weights of the items in progress stays below
 * `most`. A heavier item is processed alone. After a failure, waits for the items in progress and rejects with the
 * first failure.
 */
export async function sideBySide<Item>(
  items: readonly Item[],
  { most, weight }: { readonly most: number; readonly weight: (item: Item) => number },
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>()
  const failures: unknown[] = []
  let heavy = 0
  for (const item of items) {
    const own = weight(item)
    while (running.size > 0 && (running.size >= AT_ONCE || heavy + own > most)) await Promise.race(running)
    if (failures.length > 0) break
    heavy += own
    const one: Promise<void> = work(item)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => {
        heavy -= own
        running.delete(one)
      })
    running.add(one)
  }
  await Promise.all(running)
  if (failures.length > 0) throw failures[0]
}
