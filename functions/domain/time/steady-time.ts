/**
 * A clock for durations. If `now` is set back, it continues, so that no wait becomes longer. Its times are meaningless
 * outside of the process.
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
