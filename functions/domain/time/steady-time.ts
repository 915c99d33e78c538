/**
 * Returns a clock for durations. When `now` is set back, this clock continues, so that no wait becomes longer. Its
 * times have no meaning outside of the process.
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
