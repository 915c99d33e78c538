/**
 * A clock for durations: it continues where `now` is set back, so that nothing waits for an old time to come again. Its times mean
 * nothing outside of the process.
 */
export function steadyTime(now: () => number): () => number {
  let last = now()
  let setBack = 0
  return () => {
    const read = now()
    setBack += Math.max(0, last - read)
    last = read
    return read + setBack
  }
}
